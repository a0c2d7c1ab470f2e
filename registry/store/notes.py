"""Texts that come from outside and are kept as they are: short, and such that every database can hold them."""

from registry.errors import InvalidNameError, StateError
from registry.revision import RevisionState
from registry.store.bounds import MAX_DEPENDENCIES, MAX_NOTE_CHARACTERS, MAX_SOURCE_BYTES
from registry.store.records import NewRevision


def checked_note(what: str, text: str) -> None:
    """Refuse a message, reason, description or label that cannot be kept.

    Raises:
        InvalidNameError: it is too long, or holds U+0000 (which PostgreSQL's text cannot) or half a character.
    """
    if len(text) > MAX_NOTE_CHARACTERS:
        raise InvalidNameError(what, text, reason=f"at most {MAX_NOTE_CHARACTERS} characters")
    if "\x00" in text or not _is_unicode(text):
        raise InvalidNameError(what, text, reason="U+0000 and lone surrogates cannot be kept")


def checked_revision(new: NewRevision) -> None:
    """Refuse what is too large to keep, or does not begin where a revision begins.

    Raises:
        InvalidNameError: the message or description.
        StateError: `first_state`, `too_large`.
    """
    checked_note("a message", new.message)
    checked_note("a description", new.description)
    if new.state not in {RevisionState.DRAFT, RevisionState.ACTIVE}:
        raise StateError("first_state", f"a revision begins as draft or active, not as {new.state}")
    for text in (new.source_text, new.canonical_text):
        if len(text) > MAX_SOURCE_BYTES or len(text.encode(errors="surrogatepass")) > MAX_SOURCE_BYTES:
            raise StateError("too_large", f"at most {MAX_SOURCE_BYTES} bytes of one text are kept")
        if not _is_unicode(text):
            raise InvalidNameError("a contract", text, reason="lone surrogates cannot be kept")
    if len(new.dependencies) > MAX_DEPENDENCIES:
        raise StateError("too_large", f"a revision refers to at most {MAX_DEPENDENCIES} others")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
