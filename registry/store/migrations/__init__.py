"""How the tables came to be what they are. Steps lead only forwards: no downgrade, a backup is the way back."""
