"""How much the registry keeps; each bound stops one name, page or text from becoming everybody's cost."""

from typing import Final

MAX_ALIASES: Final = 100
"""Of one contract."""
MAX_REVISIONS: Final = 10_000
"""Of one contract, retired ones included, since their numbers stay taken."""
MAX_SOURCE_BYTES: Final = 1024 * 1024
"""Of one text, source or canonical; the limits of contracts are smaller."""
MAX_SOURCE_NESTING: Final = 320
"""As deep as any canonical text."""
MAX_NOTE_CHARACTERS: Final = 1_000
"""Of a message, a reason, a description."""
MAX_PAGE: Final = 100
DEFAULT_PAGE: Final = 20
MAX_DEPENDENCIES: Final = 100
"""Of one revision."""
MAX_DEPENDENTS: Final = 100
"""Of these are named; that there are any is what decides."""
MAX_SAME: Final = 20
"""Revisions named for one digest or schema id."""
MAX_SIGNATURES: Final = 20
"""Of one revision: each is joined whenever it is resolved."""
MAX_SIGNING_KEYS: Final = 1_000
"""Of one tenant, revoked ones included."""
MAX_OPEN_PROMOTIONS: Final = 1_000
"""Of one tenant, waiting for a decision."""
MAX_USAGE_DAYS: Final = 90
MAX_EVENTS: Final = 1_000
"""In one answer."""
MAX_SEARCH_CHARACTERS: Final = 128
MAX_REPLAY_BYTES: Final = 1024 * 1024
"""Of an answer that is kept to be given again."""
