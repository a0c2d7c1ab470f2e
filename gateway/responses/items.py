"""The kinds of output items while they grow: what they are so far, and the events that tell of each step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gateway.answer import CallBegan
from gateway.responses.answer_protocol import (
    CustomToolCallOutput,
    FunctionCallOutput,
    ItemStatus,
    Logprob,
    MessageOutput,
    OutputRefusalPart,
    OutputTextPart,
    ReasoningOutput,
    ReasoningTextPart,
    TopLogprob,
)
from inference_node.protocol import TokenLogprob

Event: TypeAlias = Mapping[str, Any]
"""One event without its number; `type` comes first."""


class _Words:
    """One content part of a message: text, or a refusal."""

    def __init__(self, *, is_refusal: bool) -> None:
        self.is_refusal = is_refusal
        self._texts: list[str] = []
        self._logprobs: list[Logprob] = []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def told(self) -> OutputTextPart | OutputRefusalPart:
        if self.is_refusal:
            return OutputRefusalPart(refusal=self.text)
        return OutputTextPart(text=self.text, logprobs=self._logprobs)

    def more(self, text: str, logprobs: Sequence[TokenLogprob] | None) -> Event:
        self._texts.append(text)
        if self.is_refusal:
            return {"type": "response.refusal.delta", "delta": text}
        new = [_logprob(token) for token in logprobs or ()]
        self._logprobs.extend(new)
        return {
            "type": "response.output_text.delta",
            "delta": text,
            "logprobs": [logprob.model_dump() for logprob in new],
        }

    def end(self) -> Event:
        if self.is_refusal:
            return {"type": "response.refusal.done", "refusal": self.text}
        logprobs = [logprob.model_dump() for logprob in self._logprobs]
        return {"type": "response.output_text.done", "text": self.text, "logprobs": logprobs}


class MessageItem:
    """What the model says."""

    def __init__(self, item_id: str, output_index: int) -> None:
        self.status: ItemStatus = "in_progress"
        self._id = item_id
        self._output_index = output_index
        self._parts: list[_Words] = []

    def told(self) -> MessageOutput:
        """The item as it stands."""
        return MessageOutput(id=self._id, status=self.status, content=[part.told() for part in self._parts])

    def opening(self) -> Iterator[Event]:
        """Nothing: parts of the content are opened by what is said."""
        return iter(())

    def say(self, text: str, logprobs: Sequence[TokenLogprob] | None, *, is_refusal: bool) -> Iterator[Event]:
        """More words of one of the two kinds."""
        if not self._parts or self._parts[-1].is_refusal is not is_refusal:
            yield from self.closing()
            self._parts.append(_Words(is_refusal=is_refusal))
            part = self._parts[-1].told().model_dump()
            yield {"type": "response.content_part.added", **self._place(), "part": part}
        if text or logprobs:
            yield self._placed(self._parts[-1].more(text, logprobs))

    def closing(self) -> Iterator[Event]:
        """The end of the open part. Words that were cut are not told as a whole: clients parse what is."""
        if self._parts:
            part = self._parts[-1]
            if self.status != "incomplete":
                yield self._placed(part.end())
            yield {"type": "response.content_part.done", **self._place(), "part": part.told().model_dump()}

    def _placed(self, event: Event) -> Event:
        return {"type": event["type"], **self._place(), **event}

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._id, "output_index": self._output_index, "content_index": len(self._parts) - 1}


class ThoughtItem:
    """What the model thinks before it answers."""

    def __init__(self, item_id: str, output_index: int) -> None:
        self.status: ItemStatus = "in_progress"
        self._id = item_id
        self._place = {"item_id": item_id, "output_index": output_index, "content_index": 0}
        self._texts: list[str] | None = None

    def told(self) -> ReasoningOutput:
        """The item as it stands."""
        content = [] if self._texts is None else [ReasoningTextPart(text="".join(self._texts))]
        return ReasoningOutput(id=self._id, status=self.status, content=content)

    def opening(self) -> Iterator[Event]:
        """The one part of its content."""
        self._texts = []
        part = ReasoningTextPart(text="").model_dump()
        yield {"type": "response.content_part.added", **self._place, "part": part}

    def think(self, text: str) -> Iterator[Event]:
        """More of the thought."""
        assert self._texts is not None, "not opened"
        self._texts.append(text)
        yield {"type": "response.reasoning_text.delta", **self._place, "delta": text}

    def closing(self) -> Iterator[Event]:
        """The end of the part."""
        text = "".join(self._texts or ())
        if self.status != "incomplete":
            yield {"type": "response.reasoning_text.done", **self._place, "text": text}
        part = ReasoningTextPart(text=text).model_dump()
        yield {"type": "response.content_part.done", **self._place, "part": part}


class CallItem:
    """A call of a function, or of a custom tool."""

    def __init__(self, began: CallBegan, item_id: str, output_index: int) -> None:
        self.status: ItemStatus = "in_progress"
        self._began = began
        self._id = item_id
        self._place = {"item_id": item_id, "output_index": output_index}
        self._texts: list[str] = []
        self._kind = "response.custom_tool_call_input" if began.is_custom else "response.function_call_arguments"

    def told(self) -> FunctionCallOutput | CustomToolCallOutput:
        """The item as it stands."""
        began, text = self._began, "".join(self._texts)
        if began.is_custom:
            return CustomToolCallOutput(
                id=self._id, call_id=began.call_id, name=began.name, input=text, status=self.status
            )
        return FunctionCallOutput(
            id=self._id, call_id=began.call_id, name=began.name, arguments=text, status=self.status
        )

    def opening(self) -> Iterator[Event]:
        """Nothing: a call has no parts."""
        return iter(())

    def add(self, text: str) -> Iterator[Event]:
        """More of the arguments, or of the input."""
        self._texts.append(text)
        yield {"type": f"{self._kind}.delta", **self._place, "delta": text}

    def closing(self) -> Iterator[Event]:
        """The whole of the arguments, or of the input; nothing where they were cut, because clients act on it."""
        if self.status == "incomplete":
            return
        text = "".join(self._texts)
        whole = {"input": text} if self._began.is_custom else {"name": self._began.name, "arguments": text}
        yield {"type": f"{self._kind}.done", **self._place, **whole}


GrowingItem: TypeAlias = MessageItem | ThoughtItem | CallItem


def _logprob(token: TokenLogprob) -> Logprob:
    return Logprob(
        token=token.text,
        bytes=token.token_bytes,
        logprob=token.logprob,
        top_logprobs=[TopLogprob(token=top.text, bytes=top.token_bytes, logprob=top.logprob) for top in token.top],
    )
