"""The formats of JSON Schema 2020-12 as languages, each from its own specification.

They are written apart from the validator's, and tests hold the two against each other.
"""
