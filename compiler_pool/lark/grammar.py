"""Lark text in pieces: rules and terminals by name, put together once at the end."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler_pool.form.spending import ExpansionSpentError


@dataclass(frozen=True, slots=True, kw_only=True)
class LarkGrammar:
    """Rules (`lower case: body`) and terminals (`UPPER CASE: body`), with the rule or terminal that is the whole.

    Bodies are Lark as a stock llguidance takes it. `prefixed` makes room for several grammars in one text.
    """

    start: str
    rules: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The grammar as one text."""
        lines = [f"start: {self.start}"] if self.start != "start" else []
        lines += [f"{name}: {body}" for name, body in self.rules]
        return "\n".join(lines) + "\n"


@dataclass(slots=True, kw_only=True)
class LarkRules:
    """Rules in the making. Equal bodies of terminals get one name.

    Raises `ExpansionSpentError` when all bodies together pass `max_bytes` (of ASCII; None: without limit).
    """

    prefix: str = ""
    """Of every name: lower case letters and digits, begins with a letter."""
    max_bytes: int | None = None
    _num_bytes: int = 0
    _bodies: dict[str, str] = field(default_factory=dict)
    _terminals: dict[str, str] = field(default_factory=dict)

    def rule(self, name: str, body: str) -> str:
        """Add a rule under a name of the caller's own; answers the name that others refer to."""
        full = self.rule_name(name)
        assert full not in self._bodies, full
        self._pay(body)
        self._bodies[full] = body
        return full

    def rule_name(self, name: str) -> str:
        """What a rule is called in the text."""
        return f"{self.prefix}{name}"

    def terminal(self, body: str) -> str:
        """The name of a terminal with that body, made once."""
        if body not in self._terminals:
            self._pay(body)
            name = f"{self.prefix.upper()}T{len(self._terminals)}"
            self._terminals[body] = name
        return self._terminals[body]

    def _pay(self, body: str) -> None:
        self._num_bytes += len(body)
        if self.max_bytes is not None and self._num_bytes > self.max_bytes:
            raise ExpansionSpentError("max_expression_bytes", self.max_bytes)

    def entries(self) -> Iterator[tuple[str, str]]:
        """Rules in the order in which they were added, then terminals."""
        yield from self._bodies.items()
        yield from ((name, body) for body, name in self._terminals.items())
