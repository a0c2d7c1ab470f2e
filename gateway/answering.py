"""All choices of one request: each is a sequence of its own, and they are decoded at once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing

from gateway.answer import AnswerPart
from gateway.generation import Generation, Terms
from gateway.outcome import Outcome
from gateway.stages import Stage
from gateway.tasks import TaskOwner

Opening = Callable[[], AbstractAsyncContextManager[Generation]]
"""Begins a further choice, and ends it when the block is left."""

_MAX_PARTS_AHEAD = 8
"""How many parts may wait for a consumer that is slower than the nodes; after that, nodes wait."""


class Answering:
    """One request that has begun. Calling order: `parts` to its end, then `outcomes`.

    The first choice has begun when this is made; the others begin with `parts`, because a node may have room for them
    only when others have ended, which they do only while somebody reads.
    """

    def __init__(self, first: Generation, others: Sequence[Opening], terms: Terms) -> None:
        self.terms = terms
        self.num_choices = 1 + len(others)
        self._first = first
        self._others = others
        self._outcomes: dict[int, Outcome] = {}
        self._first_tokens: list[float] = []

    @property
    def model(self) -> str:
        """The model that answers."""
        return self.terms.offer.model

    @property
    def first_token_seconds(self) -> float | None:
        """When the first token of any choice came."""
        return min(self._first_tokens, default=None)

    async def parts(self) -> AsyncGenerator[tuple[int, AnswerPart], None]:
        """What is said, with the number of the choice that says it; in order within a choice.

        Close it (`contextlib.aclosing`) where it is not read to its end.

        Raises:
            GatewayError: a further choice could not begin.
        """
        if self._others:
            async with aclosing(self._parts_at_once()) as parts:
                async for index, part in parts:
                    yield index, part
            return
        async for part in self._parts_of(self._first):
            yield 0, part

    async def read(self) -> None:
        """The same for whoever wants the outcomes alone: nothing is handed on piece by piece.

        Raises:
            GatewayError: as `parts`.
        """
        if self._others:
            async with aclosing(self._parts_at_once()) as parts:
                async for _ in parts:
                    pass
            return
        await self._first.read()
        await self._conclude(self._first)

    async def outcomes(self) -> tuple[Outcome, ...]:
        """What each choice is, in their order."""
        return tuple(self._outcomes[index] for index in range(self.num_choices))

    async def _parts_of(self, generation: Generation) -> AsyncIterator[AnswerPart]:
        async for part in generation.parts():
            yield part
        await self._conclude(generation)

    async def _conclude(self, generation: Generation) -> None:
        if generation.first_token_seconds is not None:
            self._first_tokens.append(generation.first_token_seconds)
        self._outcomes[generation.index] = await generation.outcome()

    async def _parts_at_once(self) -> AsyncGenerator[tuple[int, AnswerPart], None]:
        queue: asyncio.Queue[tuple[int, AnswerPart] | _Over] = asyncio.Queue(_MAX_PARTS_AHEAD)

        async def read(generation: Generation) -> None:
            async for part in self._parts_of(generation):
                await queue.put((generation.index, part))

        async def open_and_read(opening: Opening | None) -> None:
            try:
                if opening is None:
                    await read(self._first)
                else:
                    async with opening() as generation:
                        await read(generation)
            except Exception as error:
                await queue.put(_Over(error))
            else:
                await queue.put(_Over(None))

        tasks = TaskOwner()
        try:
            for number, opening in enumerate((None, *self._others)):
                tasks.start(open_and_read(opening), name=f"choice {number}")
            num_running = self.num_choices
            while num_running:
                # Timed here and not in each choice: they decode at the same time.
                with self.terms.clock.time(Stage.DECODE):
                    item = await queue.get()
                if not isinstance(item, _Over):
                    yield item
                    continue
                if item.error is not None:
                    raise item.error
                num_running -= 1
        finally:
            await tasks.close()


class _Over:
    """A choice is over, or could not be."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
