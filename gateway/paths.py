"""Numbers and ids in paths, read by their grammar before anything is looked up."""

import re

from gateway.errors import InvalidRequestError, RequestFault
from registry.errors import NotFoundError
from registry.identifiers import PromotionId, RevisionNumber, SigningKeyId

_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_PROMOTION = re.compile(r"prm_[0-9a-f]{32}", re.ASCII)
_SIGNING_KEY = re.compile(r"ed25519:[0-9a-f]{32}", re.ASCII)
_MAX_SHOWN_CHARACTERS = 64


def revision_number(text: str) -> RevisionNumber:
    """The number of a revision.

    Raises:
        InvalidRequestError: it is none.
    """
    if _NUMBER.fullmatch(text) is None:
        message = f"`{text[:_MAX_SHOWN_CHARACTERS]}` is not the number of a revision; numbers are 1, 2, 3 …"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="revision")
    return RevisionNumber(int(text))


def promotion_id(text: str) -> PromotionId:
    """A promotion's id.

    Raises:
        NotFoundError: nothing is called so.
    """
    if _PROMOTION.fullmatch(text) is None:
        raise NotFoundError("promotion", text[:_MAX_SHOWN_CHARACTERS])
    return PromotionId(text)


def signing_key_id(text: str) -> SigningKeyId:
    """A signing key's id.

    Raises:
        NotFoundError: nothing is called so.
    """
    if _SIGNING_KEY.fullmatch(text) is None:
        raise NotFoundError("signing key", text[:_MAX_SHOWN_CHARACTERS])
    return SigningKeyId(text)
