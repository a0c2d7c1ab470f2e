"""`schemagate up`: the whole product on one machine, with nothing to configure."""
