"""Reads the text of an answer back into its parts, as it comes.

What is read is known to be in the grammar that the shape stands for, or a beginning of it: so markers are looked for
where the grammar allows them and nowhere else, and `</think>` in a string is data. Whatever may yet become a marker is
held back; how the text was cut into deltas makes no difference.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Final, Literal

from gateway.answer import AnswerPart, CallBegan, CallPart, ReasoningPart, RefusalPart, TextPart
from gateway.composition.json_scan import ObjectScan, whole_escapes
from gateway.composition.markers import num_certain
from gateway.composition.markup import REFUSAL_BEGIN, REFUSAL_END, THOUGHT_BEGIN, THOUGHT_END
from gateway.composition.parameter_reading import ParameterReader
from gateway.composition.shape import Shape, Thought, Words
from gateway.composition.token_places import TokenPlaces
from inference_node.protocol import TokenLogprob
from inference_node.tool_dialects.dialect import ToolDialect

_BLANKS: Final = " \t\r\n"


class _Place(Enum):
    """Where in the grammar the next character stands."""

    START = auto()
    THOUGHT = auto()
    AFTER_THOUGHT = auto()
    BODY = auto()
    WORDS = auto()
    REFUSAL = auto()
    CALLS = auto()
    CALL_NAME = auto()
    ARGUMENTS = auto()
    PARAMETERS = auto()
    CALL_TAIL = auto()
    INPUT = auto()
    LAST_INPUT = auto()
    AFTER_CALL = auto()
    OVER = auto()
    BROKEN = auto()


_UNFINISHED: Final = frozenset(
    {
        _Place.THOUGHT, _Place.REFUSAL, _Place.CALLS, _Place.CALL_NAME, _Place.ARGUMENTS, _Place.PARAMETERS,
        _Place.CALL_TAIL, _Place.INPUT, _Place.BROKEN,
    }
)  # fmt: skip


def new_call_id() -> str:
    """An id as clients know it; random, because it names one call for ever."""
    return f"call_{secrets.token_hex(12)}"


class Splitter:
    """One answer. Calling order: `feed` for each delta, then `end` once; `is_closed` after that."""

    def __init__(self, shape: Shape, *, call_id: Callable[[], str] = new_call_id) -> None:
        self._shape = shape
        self._dialect = shape.dialect
        self._call_id = call_id
        self._place = _Place.WORDS if shape.is_plain else _Place.START
        self._text = ""
        self._out: list[AnswerPart] = []
        self._tokens = TokenPlaces()
        self._num_calls = 0
        self._has_words = False
        self._has_thought = False
        self._scan = ObjectScan()
        self._num_scanned = 0
        self._parameters: ParameterReader | None = None
        self._heads = _heads(shape)
        self._after_call = _after_call(shape.dialect)
        self.is_closed = False
        """Whether the text ended where the structure does; without that, nothing is complete."""

    @property
    def is_thinking(self) -> bool:
        """Whether the next character belongs to the thought."""
        return self._place is _Place.THOUGHT

    @property
    def thought_state(self) -> Literal["closed", "unfinished", "missing"]:
        """How the thought went, once the text has ended."""
        if self._place is _Place.THOUGHT:
            return "unfinished"
        return "closed" if self._has_thought else "missing"

    def feed(self, text: str, logprobs: Sequence[TokenLogprob] | None = None) -> list[AnswerPart]:
        """The parts that are certain now that `text` has come; `logprobs` are of its tokens."""
        if logprobs is not None:
            self._tokens.add(logprobs)
        self._text += text
        while self._step():
            pass
        return self._taken()

    def end(self, *, is_cut: bool) -> list[AnswerPart]:
        """What was held back and became no marker. Of a text that was cut, the beginning of a marker is dropped."""
        if not is_cut and self._place in {_Place.START, _Place.BODY, _Place.AFTER_THOUGHT}:
            self._enter_words()
        if self._place is _Place.WORDS:
            self._end_words(is_cut=is_cut)
        elif self._place is _Place.ARGUMENTS:
            self._emit_call(len(self._text))
        left_over, is_open = self._text, self._place in _UNFINISHED
        if self._place is _Place.AFTER_CALL:
            left_over = self._text.removeprefix(self._dialect.separator)
            is_open = bool(self._dialect.end)
        self.is_closed = not (is_cut or is_open or left_over)
        return self._taken()

    def _taken(self) -> list[AnswerPart]:
        out, self._out = self._out, []
        return out

    def _step(self) -> bool:  # noqa: C901, PLR0911, PLR0912 - one branch a place
        """Go on by one place; whether that was possible."""
        match self._place:
            case _Place.START:
                return self._start()
            case _Place.THOUGHT:
                self._has_thought = True
                return self._until(THOUGHT_END, self._emit_thought, _Place.AFTER_THOUGHT)
            case _Place.AFTER_THOUGHT:
                return self._after_thought()
            case _Place.BODY:
                return self._body()
            case _Place.WORDS:
                return self._words()
            case _Place.REFUSAL:
                return self._until(REFUSAL_END, self._emit_refusal, _Place.OVER)
            case _Place.CALLS:
                return self._expect({self._dialect.opening: _Place.CALL_NAME})
            case _Place.CALL_NAME:
                return self._call_name()
            case _Place.ARGUMENTS:
                return self._arguments()
            case _Place.PARAMETERS:
                return self._read_parameters()
            case _Place.CALL_TAIL:
                return self._expect({self._dialect.tail(is_custom=False): _Place.AFTER_CALL})
            case _Place.INPUT:
                return self._until(self._dialect.tail(is_custom=True), self._emit_call, _Place.AFTER_CALL)
            case _Place.LAST_INPUT:
                self._emit_call(len(self._text))
                return False
            case _Place.AFTER_CALL:
                return self._expect(self._after_call)
            case _Place.OVER:
                return self._expect({})
            case _Place.BROKEN:
                return False

    def _start(self) -> bool:
        if self._shape.whole_call is not None:
            self._begin_call(self._shape.whole_call, is_custom=True)
            self._place = _Place.WORDS
            return True
        if self._shape.thought is Thought.NEVER:
            self._place = _Place.BODY
            return True
        is_needed = self._shape.thought is Thought.ALWAYS
        return self._expect({THOUGHT_BEGIN: _Place.THOUGHT}, otherwise=None if is_needed else _Place.BODY)

    def _after_thought(self) -> bool:
        # Line feeds between thought and answer belong to neither; a text under a contract may begin with its own.
        if self._shape.words is not Words.TEXT:
            self._drop(len(self._text) - len(self._text.lstrip("\n")))
            if not self._text:
                return False
        self._place = _Place.BODY
        return True

    def _body(self) -> bool:
        if self._shape.words is Words.FREE and (self._dialect.follows_words or not self._shape.customs):
            self._place = _Place.WORDS
            return True
        markers = {self._dialect.begin: _Place.CALLS} if self._shape.customs else {}
        if self._shape.may_refuse:
            markers[REFUSAL_BEGIN] = _Place.REFUSAL
        return self._expect(markers, otherwise=None if self._shape.words is Words.NONE else _Place.WORDS)

    def _words(self) -> bool:
        if self._calls_may_follow:
            return self._free_words()
        self._emit_words(whole_escapes(self._text) if self._shape.words is Words.JSON else len(self._text))
        return False

    def _free_words(self) -> bool:
        begin = self._dialect.begin
        found = self._text.find(begin)
        certain = self._text[:found] if found >= 0 else self._text[: num_certain(self._text, begin)]
        # Blanks before a call are layout, not something that was said.
        self._emit_words(len(certain.rstrip(_BLANKS)))
        if found < 0:
            return False
        self._drop(self._text.index(begin) + len(begin))
        self._place = _Place.CALLS
        return True

    def _call_name(self) -> bool:
        for head, name in self._heads.items():
            if self._text.startswith(head):
                self._drop(len(head))
                is_custom = self._shape.customs[name]
                self._begin_call(name, is_custom=is_custom)
                self._place = self._place_of_input(name, is_custom=is_custom)
                return True
        if not any(head.startswith(self._text) for head in self._heads):
            self._place = _Place.BROKEN
        return False

    def _place_of_input(self, name: str, *, is_custom: bool) -> _Place:
        if name in self._shape.open_ended:
            return _Place.LAST_INPUT
        if is_custom:
            return _Place.INPUT
        if self._dialect.parameters is not None:
            self._parameters = ParameterReader(self._dialect.parameters, self._dialect.tail(is_custom=False))
            return _Place.PARAMETERS
        self._scan = ObjectScan()
        return _Place.ARGUMENTS

    def _arguments(self) -> bool:
        # What is held back was looked through before: it holds no end, being the beginning of an escape.
        end = self._scan.end(self._text[self._num_scanned :])
        if end is None:
            self._emit_call(whole_escapes(self._text))
            self._num_scanned = len(self._text)
            return False
        self._emit_call(self._num_scanned + end)
        self._num_scanned = 0
        self._place = _Place.CALL_TAIL
        return True

    def _read_parameters(self) -> bool:
        assert self._parameters is not None
        read = self._parameters.read(self._text)
        self._drop(read.num_taken)
        if read.said:
            self._out.append(CallPart(index=self._num_calls - 1, text=read.said))
        if read.is_over or read.is_broken:
            self._place = _Place.CALL_TAIL if read.is_over else _Place.BROKEN
        return read.is_over

    def _expect(self, markers: Mapping[str, _Place], otherwise: _Place | None = None) -> bool:
        """Pass one of the markers; wait while one may still come; else it is `otherwise`, or no text of the grammar."""
        for marker, place in markers.items():
            if self._text.startswith(marker):
                self._drop(len(marker))
                self._place = place
                return True
        if not self._text or any(marker.startswith(self._text) for marker in markers):
            return False
        self._place = _Place.BROKEN if otherwise is None else otherwise
        return True

    def _until(self, marker: str, emit: Callable[[int], None], after: _Place) -> bool:
        """Emit text up to the marker, and pass it."""
        found = self._text.find(marker)
        emit(found if found >= 0 else num_certain(self._text, marker))
        if found < 0:
            return False
        self._drop(len(marker))
        self._place = after
        return True

    def _enter_words(self) -> None:
        if self._place is _Place.START and self._shape.whole_call is not None:
            self._start()
        elif self._shape.words is Words.NONE or (self._shape.thought is Thought.ALWAYS and self._place is _Place.START):
            self._place = _Place.BROKEN
        else:
            self._place = _Place.WORDS

    @property
    def _calls_may_follow(self) -> bool:
        """Whether the words may be followed by calls, whose marker they never hold."""
        return self._shape.words is Words.FREE and bool(self._shape.customs) and self._dialect.follows_words

    def _end_words(self, *, is_cut: bool) -> None:
        num_kept = len(self._text)
        if is_cut and self._calls_may_follow:
            num_kept = num_certain(self._text, self._dialect.begin)
            if num_kept < len(self._text):
                num_kept = len(self._text[:num_kept].rstrip(_BLANKS))
        self._emit_words(num_kept)
        if not (is_cut or self._has_words or self._shape.whole_call is not None):
            self._out.append(TextPart(text=""))  # the empty text is an answer too

    def _begin_call(self, name: str, *, is_custom: bool) -> None:
        began = CallBegan(index=self._num_calls, call_id=self._call_id(), name=name, is_custom=is_custom)
        self._out.append(began)
        self._num_calls += 1

    def _emit_words(self, num_characters: int) -> None:
        if self._shape.whole_call is not None:
            self._emit_call(num_characters)
            return
        text, logprobs = self._take(num_characters)
        if text:
            self._has_words = True
            self._out.append(TextPart(text=text, logprobs=logprobs))

    def _emit_refusal(self, num_characters: int) -> None:
        text, logprobs = self._take(num_characters)
        if text:
            self._out.append(RefusalPart(text=text, logprobs=logprobs))

    def _emit_thought(self, num_characters: int) -> None:
        text, _ = self._take(num_characters)
        if text:
            self._out.append(ReasoningPart(text=text))

    def _emit_call(self, num_characters: int) -> None:
        text, _ = self._take(num_characters)
        if text:
            self._out.append(CallPart(index=self._num_calls - 1, text=text))

    def _drop(self, num_characters: int) -> None:
        self._take(num_characters)

    def _take(self, num_characters: int) -> tuple[str, list[TokenLogprob] | None]:
        text, self._text = self._text[:num_characters], self._text[num_characters:]
        return text, self._tokens.take(len(text.encode()))


def _heads(shape: Shape) -> dict[str, str]:
    """What a call begins with, by tool. Names end in a quote, so none begins with another."""
    return {shape.dialect.head(name, is_custom=is_custom): name for name, is_custom in shape.customs.items()}


def _after_call(dialect: ToolDialect) -> dict[str, _Place]:
    """What may come after a call."""
    markers: dict[str, _Place] = {}
    if dialect.again is not None:
        markers |= {dialect.again: _Place.CALL_NAME, dialect.separator + dialect.again: _Place.CALL_NAME}
    return markers | ({dialect.end: _Place.OVER} if dialect.end else {})
