"""Tokens proposed ahead of the model, which it verifies several at a time: from the text so far, or a smaller model."""
