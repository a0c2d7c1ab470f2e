"""Backends that decode under no grammar of ours: servers that speak OpenAI's API."""
