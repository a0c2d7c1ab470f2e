"""The output of one answer as it grows out of the answer's parts, and the events that tell of it.

The whole answer is read off the same items as the stream, so the two cannot differ. What is judged is not said to be
done before the verdict: the `done` events of calls, and of the last item, come when the answer has its class.
"""

from collections.abc import Generator, Iterator
from typing import assert_never

from gateway.answer import Answer, AnswerPart, CallBegan, CallPart, ReasoningPart, RefusalPart, TextPart
from gateway.responses.answer_protocol import OutputItem
from gateway.responses.items import CallItem, Event, GrowingItem, MessageItem, ThoughtItem


def parts_of(answer: Answer) -> Iterator[AnswerPart]:
    """A whole answer in parts, in the one order that there is: thought, words or refusal, calls."""
    if answer.reasoning is not None:
        yield ReasoningPart(text=answer.reasoning)
    if answer.content:
        yield TextPart(text=answer.content, logprobs=answer.logprobs)
    if answer.refusal is not None:
        yield RefusalPart(text=answer.refusal)
    for index, call in enumerate(answer.calls):
        yield CallBegan(index=index, call_id=call.call_id, name=call.name, is_custom=call.is_custom)
        yield CallPart(index=index, text=call.text)


class Output:
    """The items of one answer. Calling order: `take` each part, then `finish` or `fail`; `told` at any time."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        """What every item's id ends with, before its number."""
        self._items: list[GrowingItem] = []
        self._calls: dict[int, CallItem] = {}
        self._num_done = 0

    def take(self, part: AnswerPart) -> Iterator[Event]:
        """The next part. The events have to be read to their end before the part after it is taken."""
        match part:
            case TextPart(text=text, logprobs=logprobs):
                message = yield from self._message()
                yield from message.say(text, logprobs, is_refusal=False)
            case RefusalPart(text=text):
                message = yield from self._message()
                yield from message.say(text, None, is_refusal=True)
            case ReasoningPart(text=text):
                thought = yield from self._thought()
                yield from thought.think(text)
            case CallBegan():
                prefix = "ctc" if part.is_custom else "fc"
                call = CallItem(part, self._next_id(prefix), len(self._items))
                self._calls[part.index] = call
                yield from self._open(call)
            case CallPart(index=index, text=text):
                yield from self._calls[index].add(text)
            case _:
                assert_never(part)

    def finish(self, *, is_whole: bool, has_content: bool) -> Iterator[Event]:
        """The answer has its class: where it is not whole, nothing is that waited for the verdict. Where it has
        content, there are words, if only empty ones."""
        if has_content and not any(isinstance(item, MessageItem) for item in self._items):
            message = yield from self._message()
            yield from message.say("", None, is_refusal=False)
        if not is_whole:
            # Whole calls before the one that was cut, too: nobody has judged them.
            self.fail()
        yield from self._done()

    def fail(self) -> None:
        """There is no answer: what has not been said to be done never will be."""
        for item in self._items[self._num_done :]:
            item.status = "incomplete"

    def told(self) -> list[OutputItem]:
        """The items as they stand."""
        return [item.told() for item in self._items]

    def _message(self) -> Generator[Event, None, MessageItem]:
        last = self._items[-1] if self._items else None
        if isinstance(last, MessageItem):
            return last
        message = MessageItem(self._next_id("msg"), len(self._items))
        yield from self._open(message)
        return message

    def _thought(self) -> Generator[Event, None, ThoughtItem]:
        last = self._items[-1] if self._items else None
        if isinstance(last, ThoughtItem):
            return last
        thought = ThoughtItem(self._next_id("rs"), len(self._items))
        yield from self._open(thought)
        return thought

    def _next_id(self, prefix: str) -> str:
        return f"{prefix}_{self._suffix}{len(self._items):04x}"

    def _open(self, item: GrowingItem) -> Iterator[Event]:
        if not self._calls or item is self._calls.get(0):
            yield from self._done()  # words and thoughts before another item are free text, which nothing judges
        self._items.append(item)
        added = item.told().model_dump()
        yield {"type": "response.output_item.added", "output_index": len(self._items) - 1, "item": added}
        yield from item.opening()

    def _done(self) -> Iterator[Event]:
        while self._num_done < len(self._items):
            item = self._items[self._num_done]
            if item.status == "in_progress":
                item.status = "completed"
            yield from item.closing()
            done = item.told().model_dump()
            yield {"type": "response.output_item.done", "output_index": self._num_done, "item": done}
            self._num_done += 1
