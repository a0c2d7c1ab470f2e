"""The canonical text of a Lark grammar.

One line per definition, by first use; names are by number, because a name says nothing about what is matched except
whether it is a lexeme. Alternatives keep their order, because where two lexemes match, the engine prefers the first.
"""

from collections.abc import Mapping
from json.encoder import encode_basestring

from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Literal,
    Reference,
    Repetition,
    Substring,
)
from registry.kinds.regex_text import quantifier
from registry.kinds.rust_patterns import write_rust_pattern
from registry.text import canonical_json


class LarkWriter:
    """Writes definitions under the names that it is given."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def definition(self, definition: Definition) -> str:
        """One line."""
        name = self._names[definition.name] + ("::_" if definition.is_parametric else "")
        if definition.is_lazy:
            name += "[lazy]"
        elif definition.suffix is not None:
            name += f"[suffix={self._item(definition.suffix)}]"
        return f"{name}: {self.alternatives(definition.alternatives)}"

    def alternatives(self, alternatives: tuple[Alternative, ...]) -> str:
        """What stands after a colon, or in a group."""
        return " | ".join(map(self._alternative, alternatives))

    def _alternative(self, alternative: Alternative) -> str:
        text = " & ".join(" ".join(map(self._item, items)) for items in alternative.conjuncts)
        return text if alternative.condition is None else f"{text} %if {alternative.condition}"

    def _item(self, item: Item) -> str:
        match item:
            case Literal():
                return write_literal(item.text) + ("i" if item.ignore_case else "")
            case Expression():
                text = write_rust_pattern(item.node)
                return f"/{text}/{'i' if item.ignore_case else ''}" if text else '""'
            case Reference():
                name = self._names[item.name]
                return name if item.argument is None else f"{name}::{item.argument}"
            case EmbeddedSchema():
                text = item.contract.text
                return f"%json {text if text.startswith('{') else '{}'}"  # `true` is `{}`, and `false` was refused
            case Substring():
                return f"%regex {canonical_json({item.keyword: item.value})}"
            case Group():
                return f"({self.alternatives(item.alternatives)})"
            case Repetition():
                inner = self._item(item.item)
                is_atom = isinstance(item.item, Literal | Expression | Reference | Group | Complement)
                return (inner if is_atom else f"({inner})") + quantifier(item.minimum, item.maximum)
            case Complement():
                inner = self._item(item.item)
                return f"~({inner})" if isinstance(item.item, Complement | Repetition) else f"~{inner}"


def write_literal(text: str) -> str:
    """A string in JSON's spelling, with DEL escaped, which the engine reads in no other way."""
    return encode_basestring(text).replace("\x7f", "\\u007f")
