"""Fields of SGLang, llama.cpp and TGI. Where two of them use one name, the type of the value says whose it is."""

from gateway.dialects import carried, grammar_texts
from gateway.dialects.carried import NOTHING, Carried
from gateway.dialects.protocol import GenerateParameters, TypedGrammar, TypedGrammarSchema
from gateway.dialects.response_formats import object_at
from gateway.errors import InvalidRequestError, RequestFault
from gateway.wire_faults import read_model
from registry.contract import JsonValue


def read_json_schema(value: JsonValue, param: str) -> Carried:
    """SGLang's is JSON text, llama.cpp's an object; they mean the same."""
    server = "sglang" if isinstance(value, str) else "llama_cpp"
    return carried.schema(value, param=param, dialect=f"{server}.{param}")


def read_regex(value: JsonValue, param: str) -> Carried:
    """SGLang."""
    return carried.regex(value, param=param, dialect=f"sglang.{param}")


def read_ebnf(value: JsonValue, param: str) -> Carried:
    """SGLang: GBNF, or Lark after `%llguidance {}`."""
    return grammar_texts.gbnf(value, param=param, dialect=f"sglang.{param}")


def read_structural_tag(value: JsonValue, param: str) -> Carried:
    """SGLang: JSON text, or an object."""
    return carried.structural_tag(value, param=param, dialect=f"sglang.{param}")


def read_grammar(value: JsonValue, param: str) -> Carried:
    """llama.cpp's is GBNF (or Lark after `%llguidance {}`), TGI's an object with a type."""
    if isinstance(value, str):
        return grammar_texts.gbnf(value, param=param, dialect=f"llama_cpp.{param}")
    if not isinstance(value, dict):
        message = f"`{param}` must be a GBNF text, or an object with `type` and `value`"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=param)
    sent, place = read_model(TypedGrammar, value, param=param), f"{param}.value"
    match sent.type:
        case "json" | "json_object":
            return carried.schema(sent.value, param=place, dialect=f"tgi.{param}.{sent.type}")
        case "regex":
            return carried.regex(sent.value, param=place, dialect=f"tgi.{param}.{sent.type}")
        case "json_schema":
            named = read_model(TypedGrammarSchema, object_at(sent.value, place), param=place)
            return carried.schema(named.schema_, param=f"{place}.schema", dialect=f"tgi.{param}.{sent.type}")
        case _:
            message = f"`{param}.type` is refused: types are `json`, `json_object`, `json_schema`, `regex`"
            raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param=f"{param}.type")


def read_parameters(value: JsonValue, param: str) -> Carried:
    """TGI's `parameters`, of which only `grammar` is served."""
    sent = read_model(GenerateParameters, object_at(value, param), param=param)
    return NOTHING if sent.grammar is None else read_grammar(sent.grammar, f"{param}.grammar")
