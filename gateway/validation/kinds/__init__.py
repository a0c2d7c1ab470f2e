"""The judge of contracts that are not JSON Schema: slow, general, and of its own making, from the canonical text."""
