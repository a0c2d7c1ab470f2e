"""`schemagate contract`: one file a command."""
