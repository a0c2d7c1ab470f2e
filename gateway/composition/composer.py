"""Makes one contract of what a request allows an answer to be: the caller's contract, calls of tools, a refusal, a
thought before them. The node enforces it as it enforces any other."""

from dataclasses import dataclass, replace

from gateway.auth.authenticator import Caller
from gateway.composition.composition import Composition, Wanted, parts_of
from gateway.composition.expressible import check_expressible
from gateway.composition.formats import (
    ANY_TEXT,
    Format,
    after_thought,
    calls,
    contract_format,
    custom_call,
    either,
    function_call,
    parameter,
    parameter_call,
    refusal,
    words_or,
)
from gateway.composition.lark_text import can_answer, can_be_embedded, composed_lark
from gateway.composition.parameters import Parameter, parameters_of
from gateway.composition.shape import Shape, Thought, Words
from gateway.composition.tool_contracts import (
    cannot_stand_beside,
    contract_of,
    grammar_tools,
    no_object,
    takes_an_object,
)
from gateway.errors import ContractRefusedError, InvalidRequestError, RequestFault
from gateway.intake import ContractIntake
from gateway.intent import CustomTool, FunctionTool, Tool, Toolbox, ToolMode
from gateway.outcome import TakenContract
from gateway.stages import StageClock
from inference_node.tool_dialects.dialect import ToolDialect
from inference_node.tool_dialects.hermes import NEUTRAL
from policy.limits import TENANT
from registry.contract import ContractKind, JsonValue

_TOOLS = "tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may stand beside the answer that was asked for."""

    refusal: bool = False
    thought: bool = False


class Composer:
    """Composes for one request; what it takes is remembered by the intake."""

    def __init__(
        self, intake: ContractIntake, caller: Caller, clock: StageClock, dialect: ToolDialect = NEUTRAL
    ) -> None:
        """`dialect` is how the model that will answer spells calls."""
        self._dialect = dialect
        self._intake = intake
        self._caller = caller
        self._clock = clock

    async def compose(self, answer: TakenContract | None, toolbox: Toolbox | None, allowed: Allowed) -> Composition:
        """What `answer`, the caller's own contract, comes to with the rest.

        Raises:
            ContractRefusedError: a tool's contract is refused, or the whole is.
            InvalidRequestError: tools and contract cannot be had together.
        """
        if toolbox is None and not allowed.thought and not (allowed.refusal and answer is not None):
            return _as_it_stands(answer)
        if toolbox is None or toolbox.mode is not ToolMode.REQUIRED:
            return await self._beside(answer, toolbox, allowed)
        # There are no words that it could hold for; the answer is under its name all the same.
        return replace(await self._beside(None, toolbox, allowed), answer=answer)

    async def _beside(self, answer: TakenContract | None, toolbox: Toolbox | None, allowed: Allowed) -> Composition:
        tools = {} if toolbox is None else await self._taken_tools(toolbox)
        if toolbox is not None:
            grammars = grammar_tools(toolbox)
            if grammars and len(toolbox.callable_names) == 1 and toolbox.mode is ToolMode.REQUIRED:
                only = grammars[0].name
                shape = Shape(words=Words.TEXT, customs={only: True}, whole_call=only)
                return Composition(
                    shape=shape, taken=tools[only], tools=tools, num_tools=1, ignored=_no_thought(allowed)
                )
            check_expressible(toolbox, answer, self._dialect)
            if grammars:
                return await self._with_grammars(answer, toolbox, tools, grammars, allowed)
        return await self._composed(answer, toolbox, tools, allowed)

    async def _taken_tools(self, toolbox: Toolbox) -> dict[str, TakenContract]:
        taken: dict[str, TakenContract] = {}
        for tool in toolbox.tools:  # those that may not be called too: what is sent is right, or refused
            inline = contract_of(tool)
            if inline is not None:
                taken[tool.name] = await self._intake.take(inline, self._caller, self._clock)
                if isinstance(tool, FunctionTool) and not takes_an_object(taken[tool.name].contract):
                    raise no_object(tool)
        return taken

    async def _composed(
        self,
        answer: TakenContract | None,
        toolbox: Toolbox | None,
        tools: dict[str, TakenContract],
        allowed: Allowed,
    ) -> Composition:
        is_free = answer is None and (toolbox is None or toolbox.mode is ToolMode.AUTO)
        wanted: dict[int, Wanted] = {}
        alternatives: list[Format] = []
        if answer is not None:
            words = contract_format(answer.contract)
            if words is None:
                return _alone(answer, toolbox, allowed)
            wanted[id(words)] = Wanted(taken=answer)
            alternatives.append(words)
        callables = () if toolbox is None else _callables(toolbox)
        if toolbox is not None:
            each = [_call(self._dialect, tool, tools.get(tool.name), wanted) for tool in callables]
            called = calls(self._dialect, each, is_parallel=toolbox.is_parallel)
            alternatives.append(words_or(self._dialect, called) if is_free else called)
        shape = _shape(answer, callables, allowed, self._dialect, is_free=is_free)
        if shape.may_refuse:
            alternatives.append(refusal())
        if not alternatives:
            return Composition(shape=shape)
        tree = either(alternatives)
        if shape.thought is not Thought.NEVER:
            tree = after_thought(
                tree,
                is_optional=shape.thought is Thought.MAYBE,
                may_have_line_feeds=shape.words in {Words.JSON, Words.NONE},
            )
        parts = parts_of(tree, wanted)
        draft = Composition(
            shape=shape,
            answer=answer,
            tools={tool.name: tools[tool.name] for tool in callables if tool.name in tools},
            parts=parts,
            num_tools=len(callables),
        )
        value: JsonValue = {"type": "structural_tag", "format": tree}
        may_check_after = any(part.taken.policy.allow_checked_after for part in parts)
        return await self._enforced(draft, ContractKind.STRUCTURAL_TAG, value, may_check_after=may_check_after)

    async def _with_grammars(
        self,
        answer: TakenContract | None,
        toolbox: Toolbox,
        tools: dict[str, TakenContract],
        grammars: tuple[CustomTool, ...],
        allowed: Allowed,
    ) -> Composition:
        """The same as a Lark text. One strict schema makes all of them strict: the report cannot tell them apart."""
        for tool in grammars:
            if not can_be_embedded(tools[tool.name].contract):
                raise cannot_stand_beside(tool)
        if answer is not None and not can_answer(answer.contract):
            raise _conflict(answer)
        callables = _callables(toolbox)
        shape = replace(
            _shape(answer, callables, allowed, self._dialect, is_free=answer is None and toolbox.mode is ToolMode.AUTO),
            open_ended=frozenset(tool.name for tool in grammars),
        )
        called = {tool.name: tools.get(tool.name) for tool in callables}
        text = composed_lark(
            None if answer is None else answer.contract,
            {name: None if taken is None else taken.contract for name, taken in called.items()},
            shape,
            is_parallel=toolbox.is_parallel,
        )
        of_calls = {name: taken for name, taken in called.items() if taken is not None}
        schemas = [
            each for each in (answer, *of_calls.values()) if each and each.contract.kind is ContractKind.JSON_SCHEMA
        ]
        draft = Composition(shape=shape, answer=answer, tools=of_calls, num_tools=len(callables))
        may_check_after = bool(schemas) and all(each.policy.allow_checked_after for each in schemas)
        return await self._enforced(draft, ContractKind.LARK, text, may_check_after=may_check_after)

    async def _enforced(
        self, draft: Composition, kind: ContractKind, value: JsonValue, *, may_check_after: bool
    ) -> Composition:
        answer = draft.answer
        try:
            taken = await self._intake.take_composed(
                kind,
                value,
                may_check_after=may_check_after,
                limits=TENANT if answer is None else answer.limits,
                param=_TOOLS if answer is None else answer.param,
                resolved=None if answer is None else answer.resolved,
                caller=self._caller,
                clock=self._clock,
            )
        except ContractRefusedError as error:
            raise draft.refused(error) from None
        return Composition(
            shape=draft.shape,
            taken=taken,
            answer=answer,
            tools=draft.tools,
            parts=draft.parts,
            num_tools=draft.num_tools,
        )


def _as_it_stands(answer: TakenContract | None) -> Composition:
    if answer is None:
        return Composition()
    return Composition(shape=Shape(words=_words(answer, is_free=False)), taken=answer, answer=answer)


def _callables(toolbox: Toolbox) -> tuple[Tool, ...]:
    return tuple(tool for tool in toolbox.tools if tool.name in toolbox.callable_names)


def _shape(
    answer: TakenContract | None,
    callables: tuple[Tool, ...],
    allowed: Allowed,
    dialect: ToolDialect,
    *,
    is_free: bool,
) -> Shape:
    return Shape(
        words=_words(answer, is_free=is_free),
        customs={tool.name: isinstance(tool, CustomTool) for tool in callables},
        may_refuse=allowed.refusal and not is_free,
        thought=_thought(allowed, is_free=is_free, has_tools=bool(callables)),
        dialect=dialect,
    )


def _words(answer: TakenContract | None, *, is_free: bool) -> Words:
    if answer is None:
        return Words.FREE if is_free else Words.NONE
    return Words.JSON if answer.contract.kind is ContractKind.JSON_SCHEMA else Words.TEXT


def _thought(allowed: Allowed, *, is_free: bool, has_tools: bool) -> Thought:
    if not allowed.thought:
        return Thought.NEVER
    return Thought.ALWAYS if is_free and has_tools else Thought.MAYBE


def _alone(answer: TakenContract, toolbox: Toolbox | None, allowed: Allowed) -> Composition:
    """A grammar that reads its text in its own way cannot stand within another one."""
    if toolbox is not None:
        raise _conflict(answer)
    shape = Shape(words=Words.TEXT)
    return Composition(shape=shape, taken=answer, answer=answer, ignored=_no_thought(allowed))


def _conflict(answer: TakenContract) -> InvalidRequestError:
    return InvalidRequestError(
        RequestFault.CONFLICTING_PARAMETERS,
        f"these tools cannot be offered beside a contract of kind `{answer.contract.kind}`: send one of the two, or "
        "`tool_choice: none`",
        param=_TOOLS,
    )


def _no_thought(allowed: Allowed) -> dict[str, str]:
    return {"reasoning": "no thought can stand before a text under a grammar"} if allowed.thought else {}


def _call(dialect: ToolDialect, tool: Tool, taken: TakenContract | None, wanted: dict[int, Wanted]) -> Format:
    if taken is not None and isinstance(tool, FunctionTool) and dialect.parameters is not None:
        end = dialect.parameters.end
        found = parameters_of(taken.contract, end=end, dialect=dialect.name, param=taken.param)
        each = [_argument(dialect, one, taken, wanted) for one in found]
        return parameter_call(dialect, tool.name, each)
    content = {**ANY_TEXT} if taken is None else contract_format(taken.contract)
    assert content is not None, "Lark tools are dealt with before"
    if taken is not None:
        wanted[id(content)] = Wanted(taken=taken)
    make = custom_call if isinstance(tool, CustomTool) else function_call
    return make(dialect, tool.name, content)


def _argument(dialect: ToolDialect, found: Parameter, taken: TakenContract, wanted: dict[int, Wanted]) -> Format:
    if not found.is_text:
        value: Format = {"type": "json_schema", "json_schema": found.schema}
        wanted[id(value)] = Wanted(taken=taken, within=found.pointer)
    elif found.texts is None:
        value = {**ANY_TEXT}
    else:
        value = either([{"type": "const_string", "value": text} for text in found.texts])
    return parameter(dialect, found.name, value, is_text=found.is_text, is_required=found.is_required)
