"""The tables, as the newest migration leaves them; a test holds the two against each other."""
