"""What stands in brackets after a rule's name."""

from dataclasses import dataclass
from typing import Final

from policy.rejection import RejectionCode
from registry.kinds.faults import refuse
from registry.kinds.grammar import EMPTY_TEXT, EmbeddedSchema, Item
from registry.kinds.lark_items import LarkItems
from registry.kinds.lark_stream import LarkStream

_UNSUPPORTED: Final = {
    "max_tokens": "it counts one tokenizer's tokens, and a contract is the same for all",
    "temperature": "sampling is a request's business",
    "stop": "it would take text back that was already sent; use `suffix` or `lazy`",
    "stop_capture": "it names a part of `stop`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """Those that change which texts a rule matches."""

    is_lazy: bool = False
    suffix: Item | None = None


def read_attributes(stream: LarkStream, items: LarkItems) -> Attributes:
    """The attributes of a rule, if it has any. `capture` names a part of the output and constrains nothing."""
    is_lazy = False
    suffix: Item | None = None
    if not stream.take_sign("["):
        return Attributes()
    while not stream.is_sign("]"):
        at = stream.peek().at
        key = stream.expect_word()
        if key in _UNSUPPORTED:
            message = f"The attribute `{key}` at {stream.place(at)} is not supported: {_UNSUPPORTED[key]}."
            refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword=key)
        if key == "capture":
            if stream.take_sign("="):
                items.plain_string()
        elif key == "lazy":
            is_lazy = True
        elif key == "suffix":
            stream.expect_sign("=")
            if suffix is not None:
                stream.fail("A rule has one suffix")
            suffix = items.value()
            if suffix == EMPTY_TEXT or isinstance(suffix, EmbeddedSchema):
                stream.fail("A suffix is a terminal that is not empty")
        else:
            message = f"Rules have no attribute `{key[:64]}` (at {stream.place(at)})."
            refuse(RejectionCode.UNKNOWN_KEYWORD, message, keyword=key[:64])
        if not stream.take_sign(","):
            break
    stream.expect_sign("]")
    if is_lazy and suffix is not None:
        stream.fail("A rule is `lazy` or has a `suffix`, not both")
    return Attributes(is_lazy=is_lazy, suffix=suffix)
