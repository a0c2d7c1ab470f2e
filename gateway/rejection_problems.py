"""How the rejections of a contract, or of a body's text, are answered: the first is the answer, all are listed."""

from typing import Any

from gateway.problem import Problem, dotted
from gateway.problem_rows import INVALID, REJECTIONS
from policy.rejection import Rejection

_SCHEMA_PARAMS = (
    *("response_format.json_schema.schema", "response_format.schema", "response_format.value", "text.format.schema"),
    *("contract.schema", "contract.definition", "schema", "definition"),
    *("structured_outputs.json", "guided_json", "json_schema", "grammar.value"),
)


def rejected(rejections: tuple[Rejection, ...], *, param: str, in_body: bool) -> Problem:
    """The answer. `param` is where the contract stands; `in_body` says that pointers lead into the whole body."""
    errors = [_rejection(each, param=param, in_body=in_body) for each in rejections]
    first, status = errors[0], REJECTIONS[rejections[0].code]
    extensions = {name: first[name] for name in first if name not in {"message", "param", "code"}}
    if len(errors) > 1:
        extensions["errors"] = errors
    return Problem(
        status=status,
        type=INVALID,
        code=first["code"],
        message=first["message"],
        param=first["param"],
        extensions=extensions,
    )


def _rejection(rejection: Rejection, *, param: str, in_body: bool) -> dict[str, Any]:
    pointer = rejection.pointer
    path = dotted(param, pointer)
    if in_body:
        # A fault of the text inside the contract is placed like any other fault of the contract.
        for schema_param in _SCHEMA_PARAMS:
            prefix = "/" + schema_param.replace(".", "/")
            if pointer == prefix or pointer.startswith(prefix + "/"):
                pointer = pointer[len(prefix) :]
                break
    optional = {
        "pointer": pointer if pointer or not in_body else None,
        "keyword": rejection.keyword,
        "limit_name": rejection.limit_name,
        "limit": rejection.limit,
        "observed": rejection.observed,
        "suggestion": rejection.suggestion,
        "conflicts": list(rejection.conflicts) or None,
    }
    return {
        "message": rejection.message,
        "param": path or None,
        "code": str(rejection.code),
        **{name: value for name, value in optional.items() if value is not None},
    }
