"""Which lowering an artifact was made by."""

from typing import Final

LOWERING_VERSION: Final = "3"
"""Part of every artifact's address: raise it whenever the same contract may come out as another grammar."""
