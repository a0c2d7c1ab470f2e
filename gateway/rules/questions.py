"""What a webhook is asked: one JSON object, with the finished text in it byte for byte, so that numbers stay exact."""

import json
from typing import assert_never

from gateway.rules.finished import Finished, FinishedCall, FinishedObject, RuleContext
from gateway.rules.rule_set import Webhook


def question(webhook: Webhook, part: Finished, context: RuleContext) -> bytes:
    """The body of the request."""
    circumstances = {
        "validator": webhook.name,
        "kind": webhook.kind.value,
        "request_id": context.request_id,
        "caller": context.caller(),
        "contract": context.contract(),
    }
    head = _json(circumstances).removesuffix("}")
    text = part.text if part.is_json else _json(part.text)
    match part:
        case FinishedObject():
            looked_at = f'"object":{text}'
        case FinishedCall(name=name):
            looked_at = f'"call":{{"name":{_json(name)},"arguments":{text}}}'
        case _:
            assert_never(part)
    return f"{head},{looked_at}}}".encode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
