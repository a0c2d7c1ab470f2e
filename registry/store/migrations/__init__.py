"""How the tables came to be what they are. Steps lead only forwards: there is no downgrade, a backup is the way back."""
