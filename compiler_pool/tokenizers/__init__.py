"""Reads what stands on disk of a tokenizer, one module per source, without the grammar engine."""
