"""The contract API, one file a concern; who may do what is the registry's to say."""
