"""Contracts and their identity: bounded parsing, references, canonical form, digests, profile."""
