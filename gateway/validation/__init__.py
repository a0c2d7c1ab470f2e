"""The independent judge of finished objects: it shares no code with what made them, only the contract's text."""
