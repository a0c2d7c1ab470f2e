"""The formats of JSON Schema 2020-12, asserted from their own specifications."""
