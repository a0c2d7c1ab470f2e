"""Keywords about arrays and objects: tuples, `contains` that marks nothing, `dependencies`."""

from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.translation.names import holds_names
from registry.translation.rewriting import Child, Path, Rewriting

_COUNTED = ("contains", "minContains", "maxContains")


def translate_tuples(rewriting: Rewriting) -> None:
    """An array in `items` is `prefixItems`, and `additionalItems` beside it is `items`."""
    if rewriting.dialect is Dialect.OPENAPI_3_0:
        if isinstance(rewriting.members.get("items"), list):
            rewriting.refuse_foreign("items", "`items` is one schema", "an array of schemas is draft 04 to 2019-09")
        return
    if isinstance(rewriting.members.get("items"), list):
        if not rewriting.members["items"]:
            rewriting.refuse_shape("items", "a schema or a non-empty array of schemas")
            return
        rewriting.rename("items", "prefixItems", rewriting.members["items"])
        rewriting.note("array items -> prefixItems", "items")
        if "additionalItems" in rewriting:
            rewriting.rename("additionalItems", "items", rewriting.members["additionalItems"])
            rewriting.note("additionalItems -> items", "additionalItems")
    elif "additionalItems" in rewriting:
        value = rewriting.members["additionalItems"]
        if not isinstance(value, dict | bool):
            rewriting.refuse_shape("additionalItems", "a schema")
        elif holds_names(value):
            rewriting.refuse("additionalItems", "names in `additionalItems` count where it restricts nothing")
        else:
            rewriting.set_aside("additionalItems", "says nothing without an array in items, left out")


def translate_contains(rewriting: Rewriting) -> None:
    """Before 2020-12, items that `contains` found are not evaluated by it: a double negation marks nothing."""
    if rewriting.scope.counts_contains or "contains" not in rewriting:
        return
    moved = [keyword for keyword in _COUNTED if keyword in rewriting]
    inner = {keyword: rewriting.members[keyword] for keyword in moved}
    conjuncts = rewriting.members.get("allOf", [])
    if not isinstance(conjuncts, list):
        return  # a fault of its shape, and told as such
    last: Path = ("allOf", len(conjuncts))
    wrapper: JsonValue = {"not": {"not": inner}}
    source: Path = ("contains",)
    if "allOf" not in rewriting:
        rewriting.origins["allOf",] = source
    # Every place within the wrapper, so that no pointer mixes the author's words with the translation's.
    for depth in ((), ("not",), ("not", "not")):
        rewriting.origins[last + depth] = source
    for keyword in moved:
        rewriting.origins[(*last, "not", "not", keyword)] = (keyword,)
        del rewriting.members[keyword]
    rewriting.members["allOf"] = [*conjuncts, wrapper]
    path = (*last, "not", "not", "contains")
    rewriting.wrapped[last] = (Child(path=path, source=source, schema=inner["contains"]),)
    rewriting.note("contains -> not not contains, which marks no items as evaluated", "contains")


def translate_assumed_dependencies(rewriting: Rewriting) -> None:
    """`dependencies` where nobody named a dialect, unless what became of it stands beside it: that is a mixture."""
    beside = [keyword for keyword in ("dependentRequired", "dependentSchemas") if keyword in rewriting]
    if "dependencies" in rewriting and not beside:
        translate_dependencies(rewriting)


def translate_dependencies(rewriting: Rewriting) -> None:
    """Arrays of names are `dependentRequired`, schemas are `dependentSchemas`."""
    if "dependencies" not in rewriting or rewriting.dialect is Dialect.DRAFT_2019_09:
        return
    value = rewriting.members["dependencies"]
    if not isinstance(value, dict) or not all(isinstance(member, list | dict | bool) for member in value.values()):
        rewriting.refuse_shape("dependencies", "an object whose members are schemas or arrays of names")
        return
    names: dict[str, JsonValue] = {name: member for name, member in value.items() if isinstance(member, list)}
    schemas: dict[str, JsonValue] = {name: member for name, member in value.items() if name not in names}
    parts = {"dependentRequired": names, "dependentSchemas": schemas}
    used = [keyword for keyword, part in parts.items() if part] or ["dependentSchemas"]
    rewriting.rename("dependencies", used[0], dict(parts[used[0]]))
    for keyword in used[1:]:
        rewriting.members[keyword] = dict(parts[keyword])
        rewriting.origins[keyword,] = ("dependencies",)
    rewriting.note(f"dependencies -> {', '.join(used)}", "dependencies")
