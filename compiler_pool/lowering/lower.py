"""Lowering: a canonical JSON Schema to the engine's Lark text, exactly, or refused by name."""

from collections.abc import Iterator

from compiler_pool.lowering.numbers import BOUNDS, Number, as_number, leaking_bounds
from compiler_pool.lowering.outcome import Ledger, Lowered, Refused, subschemas
from compiler_pool.lowering.schema import Schema, SchemaPass
from compiler_pool.lowering.strings import SINGLE_SPELLING_ESCAPES
from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.text import canonical_json

LOWERING_VERSION = "3"
"""Part of every artifact's address: raise it whenever the same contract may come out as another grammar."""

_NAMING = frozenset({"properties", "patternProperties", "required"})


def lower(
    contract_schema: JsonValue, *, limits: ContractLimits, policy: EnforcementPolicy, counts_properties: bool = True
) -> Lowered | Refused:
    """The grammar of a canonical schema with its enforcement report.

    `counts_properties` false: the engine refused to count members in this contract, so it is not asked to.

    Pure and free of the engine. Nothing of the caller's reaches the engine but what is written here: annotations and
    unknown keywords do not, and the one `x-guidance` is ours.
    """
    ledger = Ledger(policy)
    if contract_schema is False:
        message = "the schema false allows nothing"
        return Refused(rejections=(Rejection(code=RejectionCode.UNSATISFIABLE, message=message),), report=())
    root: Schema = contract_schema if isinstance(contract_schema, dict) else {}
    definitions = root.get("$defs")
    keywords = list(_keywords(root))
    single_spelling = any(keyword in _NAMING for keyword, _ in keywords)
    schema_pass = SchemaPass(
        definitions=definitions if isinstance(definitions, dict) else {},
        limits=limits,
        policy=policy,
        ledger=ledger,
        single_spelling=single_spelling,
        counts_properties=counts_properties,
        leaking=leaking_bounds(_bounds(keywords)),
    )
    engine = schema_pass.run(root)
    if ledger.rejections:
        return Refused(rejections=ledger.rejections, report=ledger.report)
    options: dict[str, JsonValue] = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
    if single_spelling:
        options["json_allowed_escapes"] = SINGLE_SPELLING_ESCAPES
    grammar = f"start: %json {canonical_json(engine | {'x-guidance': options})}\n"
    return Lowered(grammar=grammar, report=ledger.report)


def _keywords(root: Schema) -> Iterator[tuple[str, JsonValue]]:
    """Every keyword of the contract with its value, in any position."""
    pending: list[Schema] = [root]
    while pending:
        node = pending.pop()
        for keyword, value in node.items():
            yield keyword, value
            pending.extend(inner for _, inner in subschemas("", keyword, value))


def _bounds(keywords: list[tuple[str, JsonValue]]) -> Iterator[tuple[str, Number]]:
    for keyword, value in keywords:
        number = as_number(value)
        if keyword in BOUNDS and number is not None:
            yield keyword, number
