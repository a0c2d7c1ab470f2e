"""Which texts a schema's grammar takes within the bounds of a policy."""

from typing import Any

from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import schema_grammar
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from policy.text_bounds import TextBounds
from registry.json_schema import read_json_schema
from registry.text import canonical_json
from tests.compiler_pool.lark.form_texts import generates, matcher_of, parsed


class Bounded:
    """A schema's grammar within bounds, on the real engine."""

    def __init__(self, schema: Any, **bounds: int) -> None:
        policy = EnforcementPolicy(bounds=TextBounds(**bounds))
        contract = read_json_schema(parsed(canonical_json(schema)), limits=TENANT.contract, policy=policy)
        made = schema_grammar(contract.schema, limits=TENANT, policy=policy)
        self.refusal = made.rejections[0] if isinstance(made, Refused) else None
        if not isinstance(made, Refused):
            self.places = {(each.pointer, each.limit_name, each.limit) for each in made.bounded}
            self.matcher = matcher_of(made.grammar.text())

    def takes(self, *texts: str) -> list[bool]:
        return [generates(self.matcher, text) for text in texts]
