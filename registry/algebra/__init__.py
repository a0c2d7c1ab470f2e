"""Schemas as formulas over what a value must satisfy: closed under negation, free of any engine, with a solver."""
