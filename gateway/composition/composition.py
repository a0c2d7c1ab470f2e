"""One contract made of all that an answer may be, and how to find the way back from it to what the caller sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.composition.shape import FREE_TEXT, Shape
from gateway.errors import ContractRefusedError
from gateway.outcome import BoundContract, TakenContract
from policy.enforcement import KeywordStatus
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.pointers import join


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A contract, or what stands at `within` of one, at `pointer` of the composed one. `taken.param` is where its
    sender wrote it."""

    pointer: str
    taken: TakenContract
    within: str = ""

    def inner(self, pointer: str) -> str:
        """A place of the composed contract that lies in this part, as its sender wrote it."""
        rest = pointer.removeprefix(self.pointer)
        # What was taken out of a schema has its definitions with it.
        is_definition = rest.startswith("/$defs/")
        return self.taken.contract.source_pointer(rest if is_definition else f"{self.within}{rest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a format was made of."""

    taken: TakenContract
    within: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """What a node enforces, and how its text is read and judged.

    `taken` is None where the text is free. Where it is composed, `parts` are the contracts that it was made of.
    """

    shape: Shape = FREE_TEXT
    taken: TakenContract | None = None
    answer: TakenContract | None = None
    """The caller's own contract: what an answer in words satisfies, where there can be one."""
    tools: Mapping[str, TakenContract] = field(default_factory=dict)
    """What the arguments or the input of a tool's calls satisfy, by its name; a tool that takes any text is absent."""
    parts: tuple[Part, ...] = ()
    num_tools: int = 0
    ignored: Mapping[str, str] = field(default_factory=dict)
    """What could not be part of it, with the reason, where nobody is promised anything by it."""

    @property
    def is_composed(self) -> bool:
        """Whether the contract that is enforced was made here, out of others and markup."""
        return self.taken is not None and self.taken is not self.answer and not self.is_whole_call

    @property
    def is_whole_call(self) -> bool:
        """Whether the whole text is the input of one custom tool."""
        return self.shape.whole_call is not None

    def refused(self, error: ContractRefusedError) -> ContractRefusedError:
        """The same refusal, pointing into what the caller sent."""
        if not self.parts:
            return error
        placed = [self._placed(rejection, error.param) for rejection in error.rejections]
        param = placed[0][0]
        return ContractRefusedError(tuple(rejection for at, rejection in placed if at == param), param=param)

    def check(self, bound: BoundContract) -> None:
        """Hold strict parts to their word, where others of the same grammar are not strict.

        Raises:
            ContractRefusedError: something of a strict part would be left to the validator.
        """
        assert self.taken is not None
        if not self.taken.policy.allow_checked_after:
            return
        for entry in bound.compiled_report:
            if entry.status is not KeywordStatus.CHECKED_AFTER:
                continue
            pointer = bound.contract.source_pointer(entry.pointer)
            part = self._part(pointer)
            if part is not None and not part.taken.policy.allow_checked_after:
                message = (
                    f"`{entry.keyword}` cannot be in the grammar here, and a strict contract leaves nothing to the "
                    "validator; leave `strict` out to have it checked afterwards"
                )
                code = RejectionCode.UNSUPPORTED_KEYWORD
                rejection = Rejection(code=code, message=message, pointer=pointer, keyword=entry.keyword)
                raise self.refused(ContractRefusedError((rejection,), param=self.taken.param))

    def _placed(self, rejection: Rejection, param: str) -> tuple[str, Rejection]:
        part = self._part(rejection.pointer)
        if part is None:  # of all parts together
            return param, rejection.with_pointer("")
        return part.taken.param, rejection.with_pointer(part.inner(rejection.pointer))

    def _part(self, pointer: str) -> Part | None:
        for part in self.parts:
            if pointer == part.pointer or pointer.startswith(f"{part.pointer}/"):
                return part
        return None


def parts_of(tree: JsonValue, wanted: Mapping[int, Wanted]) -> tuple[Part, ...]:
    """Where in `tree`, which stands at `/format`, the formats of `wanted` are; they are known by their identity."""
    found: list[Part] = []

    def walk(value: JsonValue, pointer: str) -> None:
        if isinstance(value, dict):
            of = wanted.get(id(value))
            if of is not None:
                found.append(Part(pointer=_content(value, pointer), taken=of.taken, within=of.within))
                return
            for name, member in value.items():
                walk(member, join(pointer, name))
        elif isinstance(value, list):
            for index, member in enumerate(value):
                walk(member, join(pointer, index))

    walk(tree, "/format")
    return tuple(found)


def _content(node: Mapping[str, JsonValue], pointer: str) -> str:
    """Where in a format the text of the contract stands that it was made of."""
    member = {"json_schema": "json_schema", "regex": "pattern"}.get(str(node["type"]))
    return pointer if member is None else join(pointer, member)
