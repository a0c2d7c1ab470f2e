"""The gateway's judge, as comparisons ask it."""

from gateway.validation.judge import Judge as SchemaJudge
from gateway.validation.verdict import Invalid, Unjudged, Valid
from registry.compatibility.verdicts import Allowed, Forbidden, Judge, JudgeVerdict, NoVerdict


class GatewayJudges:
    """Prepares the judge that final validation asks too: what it says of a witness, it says of an answer."""

    def prepare(self, schema_text: str) -> Judge:
        """A judge of the schema."""
        return _Judge(SchemaJudge.prepare(schema_text))


class _Judge:
    def __init__(self, judge: SchemaJudge | Unjudged) -> None:
        self._judge = judge

    def judge(self, document: bytes) -> JudgeVerdict:
        """The verdict of final validation."""
        verdict = self._judge if isinstance(self._judge, Unjudged) else self._judge.judge(document)
        match verdict:
            case Valid():
                return Allowed()
            case Invalid(pointer=pointer, keyword=keyword, message=message):
                return Forbidden(pointer=pointer, keyword=keyword, message=message)
            case Unjudged(message=message):
                return NoVerdict(message=message)
