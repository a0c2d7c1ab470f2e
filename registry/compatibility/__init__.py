"""Whether one contract can take another's place: proofs, witnesses, and an honest "unknown"."""
