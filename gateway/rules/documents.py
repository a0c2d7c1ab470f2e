"""Between a document of rules, as it is sent and stored, and the values that are evaluated."""

from decimal import Decimal

from pydantic import ValidationError

from gateway.errors import InvalidRequestError, RequestFault
from gateway.rules.protocol import RuleSent, RuleSetSent
from gateway.rules.rule_set import Rule, RuleKind, RuleSet, Target, Webhook
from registry.contract import JsonValue


def rule_set_of(sent: RuleSetSent) -> RuleSet:
    """What a document says."""
    return RuleSet(
        rules=(
            *(_rule(rule, RuleKind.SEMANTIC) for rule in sent.semantic),
            *(_rule(rule, RuleKind.AUTHORISATION) for rule in sent.authorisation),
        ),
        webhooks=tuple(
            Webhook(
                name=webhook.name,
                kind=RuleKind(webhook.kind),
                target=Target(webhook.on),
                url=webhook.url,
                timeout_seconds=webhook.timeout_seconds,
                fail_open=webhook.fail_open,
            )
            for webhook in sent.webhooks
        ),
    )


def places(sent: RuleSetSent) -> tuple[str, ...]:
    """Where each rule of `rule_set_of` stands in the body, in its order."""
    return (
        *(f"semantic[{number}]" for number in range(len(sent.semantic))),
        *(f"authorisation[{number}]" for number in range(len(sent.authorisation))),
    )


def stored(sent: RuleSetSent) -> JsonValue:
    """The document as it is kept; its numbers are exact, as all that is kept."""
    document: dict[str, JsonValue] = sent.model_dump()
    webhooks = document["webhooks"]
    assert isinstance(webhooks, list)
    for webhook, read in zip(webhooks, sent.webhooks, strict=True):
        assert isinstance(webhook, dict)
        webhook["timeout_seconds"] = Decimal(repr(read.timeout_seconds))
    return document


def read_document(document: JsonValue) -> RuleSetSent | None:
    """A kept document; None where it cannot be read, as one that a newer gateway wrote."""
    try:
        return RuleSetSent.model_validate(document)
    except ValidationError:
        return None


def read_stored(document: JsonValue) -> RuleSet | None:
    """What a kept document says; None where it cannot be read."""
    sent = read_document(document)
    return None if sent is None else rule_set_of(sent)


def require_distinct_names(sent: RuleSetSent) -> None:
    """A result says by its name which rule it is of.

    Raises:
        InvalidRequestError: two rules or webhooks of the document have one name.
    """
    rules = [(place, rule.name) for place, rule in zip(places(sent), rule_set_of(sent).rules, strict=True)]
    webhooks = [(f"webhooks[{number}]", webhook.name) for number, webhook in enumerate(sent.webhooks)]
    seen: set[str] = set()
    for place, name in rules + webhooks:
        if name in seen:
            param = f"{place}.name"
            message = f"`{param}` is refused: the document has another rule of the name `{name}`"
            raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param=param)
        seen.add(name)


def _rule(sent: RuleSent, kind: RuleKind) -> Rule:
    return Rule(name=sent.name, kind=kind, target=Target(sent.on), cel=sent.cel, message=sent.message)
