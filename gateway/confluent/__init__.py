"""The registry as a Confluent client sees it: subjects, versions, schema ids; JSON Schema only."""
