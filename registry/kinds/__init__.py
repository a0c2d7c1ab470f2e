"""Contracts that are not JSON Schema: one reader per kind."""
