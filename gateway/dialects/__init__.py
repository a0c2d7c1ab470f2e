"""Contracts as they stand in requests, in this API's words and in those of other servers."""
