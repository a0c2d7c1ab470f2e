"""What a new user sees when everything is up: a key and a request that works as it stands."""

import json

_EXAMPLE_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 24},
        "mood": {"enum": ["sunny", "cloudy", "rainy", "stormy"]},
        "temperature": {"type": "integer", "minimum": -40, "maximum": 50},
    },
    "required": ["city", "mood", "temperature"],
    "additionalProperties": False,
}


def example_request(model: str) -> dict[str, object]:
    """A strict request with a fixed seed: the same answer every time it is sent."""
    return {
        "model": model,
        "messages": [{"role": "user", "content": "Report the weather in Lisbon as JSON."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "weather", "strict": True, "schema": _EXAMPLE_SCHEMA},
        },
        "max_tokens": 96,
        "temperature": 0,
        "seed": 7,
    }


def curl_line(*, base_url: str, api_key: str, model: str) -> str:
    """One shell line; the body holds no single quote, so it can stand between them."""
    body = json.dumps(example_request(model), separators=(",", ":"))
    return (
        f"curl -s {base_url}/v1/chat/completions -H 'Authorization: Bearer {api_key}' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )


def greeting(*, base_url: str, api_key: str, model: str) -> str:
    """Printed on stdout once every service is ready."""
    return "\n".join(
        (
            "",
            f"Schemagate is up: {base_url}/v1 serving {model}",
            f"API key (new at every start): {api_key}",
            "",
            "Try it:",
            "",
            curl_line(base_url=base_url, api_key=api_key, model=model),
            "",
            "Ctrl-C stops everything.",
            "",
        )
    )
