"""The numbers that a schema's grammar generates, under a policy on digits."""

from compiler_pool.form.maker import Maker
from compiler_pool.form.pruning import pruned
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.lark.writer import write_form
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT, UNLIMITED
from registry.algebra.budgeting import SolverBudget
from registry.algebra.terms import Terms
from registry.json_schema import read_json_schema
from tests.compiler_pool.lark.form_texts import generates, matcher_of, parsed


class SchemaNumbers:
    """A schema within the limits of a tenant, written as Lark for the real engine."""

    def __init__(self, schema: str, *, max_digits: int | None) -> None:
        contract = read_json_schema(parsed(schema), limits=UNLIMITED.contract, policy=EnforcementPolicy())
        terms = Terms()
        [root] = terms.read(parsed(contract.text))
        maker = Maker(terms, spending=ExpansionSpending(TENANT.expansion), solving=SolverBudget(max_steps=20_000))
        form = pruned(maker.form(root))
        assert form is not None
        self.reasons = [inability.reason for inability in maker.inabilities]
        self._matcher = matcher_of(write_form(form, max_digits=max_digits).text())

    def generates(self, text: str) -> bool:
        """Whether exactly this text can be generated and ended."""
        return generates(self._matcher, text)
