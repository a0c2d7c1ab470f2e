"""Comparisons of contracts as the gateway runs them: in a process that may be killed, with the judge of answers."""
