"""Callers who bring a token of an identity provider (OpenID Connect, RFC 9068) instead of a key of ours."""
