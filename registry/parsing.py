"""JSON that a stranger sent, read in bounded time and memory.

The order matters: size before anything, nesting before the parser (which recurses), lengths of number literals before
they become integers. What JSON allows but two readers may read differently is refused: duplicate names, lone
surrogates, NaN and Infinity (which Python's parser takes), a byte-order mark.
"""

import re
from decimal import Decimal
from itertools import accumulate
from json import JSONDecodeError, JSONDecoder
from typing import Final, NoReturn, TypeAlias

from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.pointers import join

MAX_NUMBER_LITERAL: Final = 256
"""Characters of one number as written."""
NUMBER_LIMIT_NAME: Final = "max_number_literal"
"""What a rejection of a number that is too long says."""
MAX_NUMBER_DIGITS: Final = 128
"""Digits of one number as written, leading zeros included."""
MAX_NUMBER_EXPONENT: Final = 400
"""Decimal exponent of one number: `1e999999999` is ten characters and a gigabyte."""

# A string left open runs to the end, or each of its escaped quotes would start another scan.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKET: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))
_LONG_NUMBER: Final = re.compile(rb"[-+.eE0-9]{%d,}" % (MAX_NUMBER_DIGITS + 1))
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89abcdefABCDEF]")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DEPTH: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def parse_json(
    data: bytes | str,
    *,
    max_bytes: int,
    max_nesting: int,
    bytes_limit_name: str = "max_bytes",
    nesting_limit_name: str = "max_nesting",
) -> JsonValue:
    """The value in `data`, exact: integral numbers are `int` (`2.0` is 2), others `Decimal`.

    Raises `ContractRejectedError`; the limits' names are what its rejections say.
    """
    raw = _as_bytes(data)
    if len(raw) > max_bytes:
        _refuse_limit(bytes_limit_name, max_bytes, len(raw), "The text is too long.")
    text = _decoded(raw)
    skeleton = _STRING.sub(b"", raw)
    nesting = max(accumulate(map(_DEPTH.__getitem__, skeleton.translate(None, _NOT_BRACKET))), default=0)
    if nesting > max_nesting:
        _refuse_limit(nesting_limit_name, max_nesting, nesting, "Arrays and objects are nested too deeply.")
    reading = _Reading(check_integers=_LONG_NUMBER.search(skeleton) is not None)
    value = reading.run(text)
    if reading.num_faults or _SURROGATE_ESCAPE.search(raw):
        reading.find_faults(value)
    return value


def exact_number(literal: str) -> int | Decimal | None:
    """The exact value of a JSON number; `None` if it is out of bounds."""
    if len(literal) > MAX_NUMBER_LITERAL:
        return None
    mantissa, _, exponent = literal.lower().partition("e")
    if len(mantissa) - mantissa.count(".") - mantissa.count("-") > MAX_NUMBER_DIGITS or len(exponent) > 8:
        return None
    value = Decimal(literal)
    if not value:
        return 0
    if abs(value.adjusted()) > MAX_NUMBER_EXPONENT:
        return None
    whole = int(value)
    return whole if whole == value else value


class _BadNumber:
    """Stands in the parsed value where a number is that cannot be used."""

    def __init__(self, literal: str) -> None:
        self.literal = literal


_Way: TypeAlias = "tuple[()] | tuple[_Way, str | int]"
"""The way to a value: that to what holds it, and the name or index there."""


def _pointer(way: _Way) -> str:
    tokens: list[str | int] = []
    while way:
        way, token = way
        tokens.append(token)
    return join("", *reversed(tokens))


class _Reading:
    """One run of the parser; faults are marked while it runs and located afterwards."""

    def __init__(self, *, check_integers: bool) -> None:
        self.num_faults = 0
        self._duplicates: dict[int, str] = {}
        # Kept alive, so that no later object can take the id of one that was dropped.
        self._kept: list[dict[str, object]] = []
        # The C parser makes integers itself unless some literal is suspiciously long.
        self._decoder = JSONDecoder(
            parse_float=self._number,
            parse_int=self._number if check_integers else None,
            parse_constant=self._bad_number,
            object_pairs_hook=self._object,
        )

    def run(self, text: str) -> JsonValue:
        try:
            value: JsonValue = self._decoder.decode(text)
        except JSONDecodeError as error:
            message = f"This is not JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}."
            raise ContractRejectedError((Rejection(code=RejectionCode.INVALID_JSON, message=message),)) from error
        return value

    def find_faults(self, root: object) -> None:
        """Walk the value and raise every marked fault with its pointer; return if there is none."""
        rejections: list[Rejection] = []
        # Pointers are made where a fault is: a long name above many values would be in each of theirs.
        stack: list[tuple[_Way, object]] = [((), root)]
        while stack and len(rejections) < MAX_REJECTIONS:
            way, value = stack.pop()
            if isinstance(value, _BadNumber):
                rejections.append(_number_rejection(value.literal, _pointer(way)))
            elif isinstance(value, str):
                if _LONE_SURROGATE.search(value):
                    rejections.append(_surrogate_rejection(_pointer(way)))
            elif isinstance(value, list):
                stack.extend(((way, i), item) for i, item in reversed(list(enumerate(value))))
            elif isinstance(value, dict):
                if any(_LONE_SURROGATE.search(name) for name in value):
                    rejections.append(_surrogate_rejection(_pointer(way)))
                    continue
                if id(value) in self._duplicates:
                    rejections.append(_duplicate_rejection(_pointer(way), self._duplicates[id(value)]))
                stack.extend(((way, name), member) for name, member in reversed(value.items()))
        if rejections:
            raise ContractRejectedError(tuple(rejections))

    def _number(self, literal: str) -> object:
        value = exact_number(literal)
        return self._bad_number(literal) if value is None else value

    def _bad_number(self, literal: str) -> _BadNumber:
        self.num_faults += 1
        return _BadNumber(literal)

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) != len(pairs):
            self.num_faults += 1
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    self._duplicates[id(members)] = name
                    break
                seen.add(name)
            self._kept.append(members)
        return members


def _as_bytes(data: bytes | str) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return data.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ContractRejectedError((_surrogate_rejection(""),)) from error


def _decoded(raw: bytes) -> str:
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        message = "The text starts with a byte-order mark; send UTF-8 without one."
        raise ContractRejectedError((Rejection(code=RejectionCode.INVALID_ENCODING, message=message),))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"The text is not UTF-8 (byte {error.start})."
        raise ContractRejectedError((Rejection(code=RejectionCode.INVALID_ENCODING, message=message),)) from error


def _refuse_limit(name: str, limit: int, observed: int, message: str) -> NoReturn:
    rejection = Rejection(
        code=RejectionCode.LIMIT_EXCEEDED, message=message, limit_name=name, limit=limit, observed=observed
    )
    raise ContractRejectedError((rejection,))


def _number_rejection(literal: str, pointer: str) -> Rejection:
    if literal.lstrip("-")[:1].isdigit():
        return Rejection(
            code=RejectionCode.LIMIT_EXCEEDED,
            message=f"A number may have {MAX_NUMBER_DIGITS} digits and an exponent of {MAX_NUMBER_EXPONENT}.",
            pointer=pointer,
            limit_name=NUMBER_LIMIT_NAME,
            limit=MAX_NUMBER_LITERAL,
            observed=len(literal),
        )
    message = f"{literal} is not a JSON number."
    return Rejection(code=RejectionCode.NON_FINITE_NUMBER, message=message, pointer=pointer)


def _surrogate_rejection(pointer: str) -> Rejection:
    message = "A string contains a lone surrogate, which no UTF-8 text can carry."
    return Rejection(code=RejectionCode.LONE_SURROGATE, message=message, pointer=pointer)


def _duplicate_rejection(pointer: str, name: str) -> Rejection:
    shown = name if len(name) <= 64 else f"{name[:64]}…"
    message = f"The member name {shown!r} occurs twice in one object; only one of them could count."
    return Rejection(code=RejectionCode.DUPLICATE_NAME, message=message, pointer=join(pointer, name))
