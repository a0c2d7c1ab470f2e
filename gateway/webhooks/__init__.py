"""Requests to services that operators name: where they may go, how they are signed, and what may come back."""
