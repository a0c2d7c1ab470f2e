"""What a dialect cannot say is refused: other words for it would be another dialect, which the model has not."""

from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import CustomTool, Toolbox, ToolMode
from gateway.outcome import TakenContract
from inference_node.tool_dialects.dialect import ToolDialect
from registry.contract import ContractKind


def check_expressible(toolbox: Toolbox, answer: TakenContract | None, dialect: ToolDialect) -> None:
    """Whether calls of these tools, and an answer beside them, can be written and told apart.

    Raises:
        InvalidRequestError: naming the tool, or the contract, and the dialect.
    """
    for tool in toolbox.tools:
        if tool.name in toolbox.callable_names and isinstance(tool, CustomTool):
            _check_custom(tool, dialect)
    if answer is not None and not dialect.follows_words and toolbox.mode is ToolMode.AUTO:
        _check_answer(answer, dialect)


def _check_custom(tool: CustomTool, dialect: ToolDialect) -> None:
    is_open = tool.kind is ContractKind.LARK
    if dialect.takes_text and (dialect.has_open_calls or not is_open):
        return
    raise InvalidRequestError(
        RequestFault.UNSUPPORTED_PARAMETER,
        f"the tool `{tool.name}` cannot be called: this model's spelling of calls (`{dialect.name}`) has none for "
        f"{'text under a grammar of Lark' if is_open else 'text'}; send a function, or ask another model",
        param=tool.param,
    )


def _check_answer(answer: TakenContract, dialect: ToolDialect) -> None:
    """Where a call stands in place of an answer, no answer may begin as a call does: not with its first character,
    because the grammar engine decides there whether it reads JSON."""
    contract = answer.contract
    texts = contract.schema if contract.kind is ContractKind.CHOICE else None
    if isinstance(texts, list) and not any(str(text).startswith(dialect.begin[0]) for text in texts):
        return
    raise InvalidRequestError(
        RequestFault.CONFLICTING_PARAMETERS,
        f"these tools cannot be offered beside a contract of kind `{contract.kind}`: nothing would tell an answer from "
        f"a call as this model spells it (`{dialect.name}`)",
        param="tools",
    )
