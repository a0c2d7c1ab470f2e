"""Tensor operations of masked decoding, each with a torch reference."""
