"""The `schemagate` command."""
