"""From other dialects to 2020-12, source to source: exactly, reported, or refused by name."""
