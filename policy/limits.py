"""Every limit of a contract: name, unit, default, and what it stops. Starting values come from a sweep of hostile
contracts over the raw engine; `docs/policy.md` tells the price of raising each."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractLimits:
    """Limits on one contract."""

    max_contract_bytes: int
    """Size, enums, choices."""
    max_nesting: int
    """JSON nesting, scanned before parsing: recursion errors, towers of `not`."""
    max_path: int
    """Longest path through `$ref` and applicators: stack overflow in the engine (600 hops kill a 2 MiB stack)."""
    max_subschemas: int
    """Size of the schema graph."""
    max_unfolded_subschemas: int
    """Subschemas once references are followed, recursion counted once: 2^26 doublings in 1.7 KB."""
    max_dynamic_names: int
    """Names of `$dynamicAnchor`s that `$dynamicRef`s depend on; a schema that extends another has one."""
    max_scoped_subschemas: int
    """Further copies of subschemas, one per other meaning of a `$dynamicRef` there: 2^n for n names. 50 µs each."""
    max_shortest_instance_bytes: int
    """Least instance of the contract; recursion without a base has none."""
    max_optional_properties: int
    """Per object: presence blow-up."""
    max_required_properties: int
    """Per object."""
    max_pattern_properties: int
    """Per object."""
    max_enum_scalars: int
    """Per enum."""
    max_enum_objects: int
    """Arrays and objects per enum: a 16-bit symbol panic at 10,000 object constants."""
    max_enum_bytes: int
    """Per enum."""
    max_literal_bytes: int
    """One literal or name: 1 MiB constants."""
    max_pattern_bytes: int
    """One pattern."""
    max_pattern_repeat: int
    """One counted repeat's bound."""
    max_pattern_repeat_product: int
    """Product of nested counted repeats: `("a"{1,30}){1,30}` costs 0.2 s a mask."""
    max_pattern_depth: int
    """Group nesting in a pattern."""
    max_number_digits: int
    """Significant digits of a number that is a constraint: its expression grows with their square."""
    max_multiple_of: int
    """`multipleOf: 2147483647` is 39 bytes and takes the engine over 20 s."""
    max_length: int
    """`maxLength`, `minLength`, in characters."""
    max_required_length: int
    """`minLength`: each character costs up to ten of the engine's lexer states, and all have to be generated."""
    max_items: int
    """`maxItems`, `minItems`."""
    max_row_cost: int
    """4 x optional properties + branches, per object: the engine's row limit, hit only in decoding."""
    max_grammar_bytes: int
    """One Lark or GBNF text."""
    max_grammar_rules: int
    """Rules and terminals of one grammar: 100,000 in a chain are a stack overflow in the engine."""
    max_grammar_alternatives: int
    """In one list of alternatives: wide rules end in the engine's row limit."""
    max_grammar_depth: int
    """Groups within each other, in one rule; the engine's own reader ends at 30."""
    max_grammar_repeat_product: int
    """Product of the bounds of counted repeats within each other."""
    max_grammar_optionals: int
    """Items in a row that may be left out."""
    max_tools: int
    """Of one tool set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLimits:
    """Limits on the registered contracts that one contract refers to, and they in turn."""

    max_referenced_contracts: int
    """Different ones: each is a look-up in the store and a text to read."""
    max_referenced_bytes: int
    """All their texts together."""
    max_reference_depth: int
    """References one after another: each costs a turn to the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionBudget:
    """What the intermediate form of one contract may come to; each limit is reserved before growth."""

    max_disjuncts: int
    """Cases of one goal after distribution: `allOf`/`anyOf` products, `if` towers."""
    max_nodes: int
    """Nodes in all; each is at least one rule."""
    max_states: int
    """States of all machines together: presence conditions and counts."""
    max_steps: int
    """Formulas looked at, candidates tried, states of automata made, and some for each node and state; 50,000 to 80,000
    a second, with half as many of the solver's beside them: so that a contract which grows is refused by this name,
    deterministically, before its worker is killed on CPU time. Of 1,200 real schemas one takes 10,000."""
    max_expression_bytes: int
    """Rules and regular expressions that are written, all together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBudget:
    """llguidance's own limits, in its units: they stop stalls while decoding, not construction."""

    max_items_in_row: int
    initial_lexer_fuel: int
    step_lexer_fuel: int
    step_max_items: int
    max_lexer_states: int
    max_grammar_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessBudget:
    """What one job may cost its worker process; over any of them the process is killed and replaced."""

    cpu_seconds: float
    wall_seconds: float
    address_space_bytes: int
    """Above what the process holds when it is idle and ready."""
    stack_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialBudget:
    """A contract is accepted only after up to `num_steps` seeded steps of it: some compile, and die later."""

    num_steps: int
    num_idle_steps: int
    """Steps in a row without a mask of a new size, after which the walk has seen what it will see."""
    max_step_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitClass:
    """One consistent set of limits, chosen by who answers for the contract."""

    name: str
    contract: ContractLimits
    references: ReferenceLimits
    expansion: ExpansionBudget
    engine: EngineBudget
    compile: ProcessBudget
    trial: TrialBudget
    validation_seconds: float


_MIB = 1024 * 1024
_GIB = 1024 * _MIB

TENANT = LimitClass(
    name="tenant",
    contract=ContractLimits(
        max_contract_bytes=64 * 1024,
        max_nesting=32,
        max_path=32,
        max_subschemas=2_000,
        max_unfolded_subschemas=20_000,
        max_dynamic_names=16,
        max_scoped_subschemas=1_000,
        max_shortest_instance_bytes=16 * 1024,
        max_optional_properties=100,
        max_required_properties=200,
        max_pattern_properties=8,
        max_enum_scalars=1_000,
        max_enum_objects=100,
        max_enum_bytes=32 * 1024,
        max_literal_bytes=1024,
        max_pattern_bytes=256,
        max_pattern_repeat=256,
        max_pattern_repeat_product=1_000,
        max_pattern_depth=16,
        max_number_digits=64,
        max_multiple_of=1_000,
        max_length=10_000,
        max_required_length=4_000,
        max_items=10_000,
        max_row_cost=400,
        max_grammar_bytes=8 * 1024,
        max_grammar_rules=200,
        max_grammar_alternatives=256,
        max_grammar_depth=12,
        max_grammar_repeat_product=100,
        max_grammar_optionals=64,
        max_tools=128,
    ),
    references=ReferenceLimits(
        max_referenced_contracts=16,
        max_referenced_bytes=256 * 1024,
        max_reference_depth=4,
    ),
    expansion=ExpansionBudget(
        max_disjuncts=64, max_nodes=4_000, max_states=10_000, max_steps=12_000, max_expression_bytes=256 * 1024
    ),
    engine=EngineBudget(
        max_items_in_row=500,
        initial_lexer_fuel=100_000,
        step_lexer_fuel=500_000,
        step_max_items=5_000,
        max_lexer_states=50_000,
        max_grammar_size=50_000,
    ),
    compile=ProcessBudget(cpu_seconds=0.5, wall_seconds=4.0, address_space_bytes=_GIB, stack_bytes=64 * _MIB),
    trial=TrialBudget(num_steps=256, num_idle_steps=48, max_step_seconds=0.020),
    validation_seconds=0.25,
)

GOVERNED = LimitClass(
    name="governed",
    contract=ContractLimits(
        max_contract_bytes=512 * 1024,
        max_nesting=64,
        max_path=64,
        max_subschemas=20_000,
        max_unfolded_subschemas=200_000,
        max_dynamic_names=64,
        max_scoped_subschemas=8_000,
        max_shortest_instance_bytes=64 * 1024,
        max_optional_properties=400,
        max_required_properties=1_000,
        max_pattern_properties=20,
        max_enum_scalars=10_000,
        max_enum_objects=500,
        max_enum_bytes=256 * 1024,
        max_literal_bytes=4096,
        max_pattern_bytes=1024,
        max_pattern_repeat=1_000,
        max_pattern_repeat_product=10_000,
        max_pattern_depth=32,
        max_number_digits=128,
        max_multiple_of=10_000,
        max_length=100_000,
        max_required_length=8_000,
        max_items=100_000,
        max_row_cost=1_600,
        max_grammar_bytes=64 * 1024,
        max_grammar_rules=1_000,
        max_grammar_alternatives=1_000,
        max_grammar_depth=24,
        max_grammar_repeat_product=1_000,
        max_grammar_optionals=250,
        max_tools=512,
    ),
    references=ReferenceLimits(
        max_referenced_contracts=64,
        max_referenced_bytes=2 * _MIB,
        max_reference_depth=8,
    ),
    expansion=ExpansionBudget(
        max_disjuncts=256, max_nodes=40_000, max_states=50_000, max_steps=60_000, max_expression_bytes=_MIB
    ),
    engine=EngineBudget(
        max_items_in_row=2_000,
        initial_lexer_fuel=300_000,
        step_lexer_fuel=500_000,
        step_max_items=20_000,
        max_lexer_states=100_000,
        max_grammar_size=200_000,
    ),
    compile=ProcessBudget(cpu_seconds=3.0, wall_seconds=10.0, address_space_bytes=2 * _GIB, stack_bytes=64 * _MIB),
    trial=TrialBudget(num_steps=256, num_idle_steps=48, max_step_seconds=0.050),
    validation_seconds=1.0,
)

# For corpora only: sizes are raised out of the way. Process budgets stay, because no measurement is worth a machine,
# and so does the length of numbers, because the final validator judges none that is longer.
UNLIMITED = LimitClass(
    name="none",
    contract=ContractLimits(
        max_contract_bytes=16 * _MIB,
        max_nesting=256,
        max_path=200,
        max_subschemas=1_000_000,
        max_unfolded_subschemas=10_000_000,
        max_dynamic_names=256,
        max_scoped_subschemas=200_000,
        max_shortest_instance_bytes=_MIB,
        max_optional_properties=100_000,
        max_required_properties=100_000,
        max_pattern_properties=1_000,
        max_enum_scalars=1_000_000,
        max_enum_objects=5_000,
        max_enum_bytes=16 * _MIB,
        max_literal_bytes=_MIB,
        max_pattern_bytes=64 * 1024,
        max_pattern_repeat=100_000,
        max_pattern_repeat_product=1_000_000,
        max_pattern_depth=64,
        max_number_digits=128,
        max_multiple_of=1_000_000,
        max_length=10_000_000,
        max_required_length=10_000_000,
        max_items=10_000_000,
        max_row_cost=1_000_000,
        max_grammar_bytes=_MIB,
        max_grammar_rules=10_000,
        max_grammar_alternatives=10_000,
        max_grammar_depth=24,
        max_grammar_repeat_product=10_000,
        max_grammar_optionals=1_000,
        max_tools=10_000,
    ),
    references=ReferenceLimits(
        max_referenced_contracts=1_000,
        max_referenced_bytes=64 * _MIB,
        max_reference_depth=32,
    ),
    expansion=ExpansionBudget(
        max_disjuncts=1_024, max_nodes=400_000, max_states=200_000, max_steps=1_000_000, max_expression_bytes=16 * _MIB
    ),
    engine=EngineBudget(
        max_items_in_row=2_000,
        initial_lexer_fuel=1_000_000,
        step_lexer_fuel=1_000_000,
        step_max_items=50_000,
        max_lexer_states=250_000,
        max_grammar_size=500_000,
    ),
    compile=ProcessBudget(cpu_seconds=20.0, wall_seconds=40.0, address_space_bytes=3 * _GIB, stack_bytes=256 * _MIB),
    trial=TrialBudget(num_steps=256, num_idle_steps=48, max_step_seconds=5.0),
    validation_seconds=5.0,
)

LIMIT_CLASSES = {limits.name: limits for limits in (TENANT, GOVERNED, UNLIMITED)}


def limit_names() -> tuple[str, ...]:
    """The names refusals use, for documentation and tests."""
    return tuple(field.name for field in fields(ContractLimits))
