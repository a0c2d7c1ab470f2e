"""Who runs: admission in turn, room for what is computed next, and who gives up its blocks when there are none."""

from threading import Condition
from typing import Final

from inference_node.block_pool import BlockPool, BlockTable
from inference_node.fair_queue import FairQueue
from inference_node.mask_rows import MaskRows
from inference_node.model_runner import ModelRunner
from inference_node.running import Running
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.restored_state import KeptKeysValues
from inference_node.step_plan import StepLimits


class Seating:
    """Owns blocks and mask rows. Used from the step loop's thread; the queue is guarded by the loop's condition.

    Those who run stand in the order in which they were admitted. Room is made for the first of them before the last,
    and the last gives up its blocks when there are none: so somebody always comes to an end. Who was preempted keeps
    its tokens, its matcher and a mask that was filled, and is first of its line.
    """

    def __init__(
        self, *, pool: BlockPool, rows: MaskRows, runner: ModelRunner, limits: StepLimits, changed: Condition
    ) -> None:
        self.pool: Final = pool
        self.rows: Final = rows
        self.running: Final[list[Running]] = []
        self._runner = runner
        self._limits = limits
        self._changed = changed
        self.queue: Final[FairQueue[Running]] = FairQueue(
            max_waiting=limits.max_waiting,
            partition_share=limits.partition_share,
            partition_of=lambda waiting: waiting.sequence.request.partition,
        )
        self._held: list[Running] = []
        """Gone, but for a mask that is still being written into their rows."""
        self._lacks_blocks = False
        """Whoever's turn it is found too few, and none came free since."""

    @property
    def num_free_places(self) -> int:
        """How many more could run, as far as places go."""
        return self._limits.max_sequences - len(self.running)

    @property
    def can_admit(self) -> bool:
        """Whether `admit` is worth a try. Call it with the condition held."""
        return len(self.queue) > 0 and self.num_free_places > 0 and not self._lacks_blocks

    @property
    def has_settled(self) -> bool:
        """Whether `settle` would give something back."""
        return any(held.is_mask_settled for held in self._held)

    def settle(self) -> None:
        """Mask rows whose fill has ended are free."""
        for held in [held for held in self._held if held.is_mask_settled]:
            self._held.remove(held)
            self.rows.give_back(held.mask_rows)

    def look_again(self) -> None:
        """Blocks may have come free in another way than by a sequence that left."""
        self._lacks_blocks = False

    def admit(self, *, step: int) -> list[Running]:
        """Those whose turn it is and for whose tokens there is room, ready to run."""
        admitted: list[Running] = []
        while True:
            with self._changed:
                candidate = self.queue.peek() if self.can_admit else None
                if candidate is None:
                    break
                if not self._seat(candidate):
                    self._lacks_blocks = True
                    break
                self.queue.pop()
            candidate.last_step = step
            self.running.append(candidate)
            admitted.append(candidate)
        return admitted

    def bring_in(self, admitted: Running) -> None:
        """Keys and values that it brings along, into its blocks. What goes wrong here is its own."""
        kept = _kept(admitted)
        if kept is not None:
            self._runner.write_keys_values(admitted.table.blocks, kept.take())
            admitted.sequence.num_computed = kept.num_tokens

    def make_room(self) -> list[Running]:
        """Room for what each of them computes next, in their order; the last ones give up theirs. Who had to."""
        preempted: list[Running] = []
        for running in list(self.running):
            if len(running.table.blocks) * BLOCK_TOKENS >= len(running.sequence.token_ids):
                continue  # nearly always: the rest of this is for who steps over a block's end
            while running in self.running and not self.has_room(running, self._num_needed(running)):
                last = self.running[-1]
                self._preempt(last)
                preempted.append(last)
        return preempted

    def has_room(self, running: Running, num_tokens: int) -> bool:
        """Whether its blocks reach so far, after growing them if that can be."""
        return self.pool.grow(running.table, num_tokens)

    def publish(self, running: Running) -> None:
        """What is computed of its prompt can be found by others of its partition."""
        request = running.sequence.request
        if request.restored is not None:  # another machine may have computed it, to other bits
            return
        self.pool.publish(
            running.table,
            request.prompt_ids,
            num_tokens=min(running.sequence.num_computed, len(request.prompt_ids)),
            salt=request.prefix_salt,
        )

    def wake(self, _: object = None) -> None:
        """Have the step loop look again. From any thread."""
        with self._changed:
            self._changed.notify_all()

    def vacate(self, running: Running) -> None:
        """It runs no more: its blocks are free at once, its mask rows as soon as nobody writes into them."""
        self.running.remove(running)
        self._release(running)
        with self._changed:
            self.queue.left(running.sequence.request.partition)

    def drop(self, waiting: Running) -> None:
        """It waited, and does no more. Call it with the condition held."""
        self.queue.remove(waiting)
        self._release(waiting)  # and whose turn it is now may need fewer blocks

    def _seat(self, candidate: Running) -> bool:
        """Blocks for all of its tokens, those of its prompt that are there already among them."""
        sequence = candidate.sequence
        request = sequence.request
        # What is written must be nobody else's: a restored sequence shares no block that it did not compute.
        has_own = _kept(candidate) is not None
        table = BlockTable() if has_own else self.pool.match(request.prompt_ids, salt=request.prefix_salt)
        if not self.pool.grow(table, len(sequence.token_ids)):
            self.pool.release(table)
            return False
        candidate.table = table
        if not has_own:
            sequence.num_computed = table.num_matched_tokens
            sequence.tally.reused(sequence.num_computed)
        if not candidate.mask_rows and request.matcher is not None:
            candidate.mask_rows = self.rows.take(1 + self._limits.max_drafts)
        return True

    def _num_needed(self, running: Running) -> int:
        sequence = running.sequence
        return min(len(sequence.token_ids), sequence.num_computed + self._limits.chunk_tokens)

    def _preempt(self, running: Running) -> None:
        self.running.remove(running)
        self.pool.release(running.table)
        running.table = BlockTable()
        running.computed, running.drafts = None, ()
        running.sequence.preempted()
        with self._changed:
            self.queue.left(running.sequence.request.partition)
            self.queue.push(running, is_first=True)

    def _release(self, running: Running) -> None:
        self.pool.release(running.table)
        running.table = BlockTable()
        running.computed = None
        self._lacks_blocks = False
        if running.mask_rows and not running.is_mask_settled:
            self._held.append(running)
        elif running.mask_rows:
            self.rows.give_back(running.mask_rows)
            running.mask_rows = []


def _kept(running: Running) -> KeptKeysValues | None:
    """What a restored sequence brings along, until it has lost its blocks once."""
    restored = running.sequence.request.restored
    if restored is None or running.sequence.is_preempted or not restored.keys_values.num_tokens:
        return None
    return restored.keys_values
