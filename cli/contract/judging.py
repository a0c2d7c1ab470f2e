"""What a gateway would make of a contract, before anything is kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.contract.folder import Submission
from cli.contract.naming import revision_place
from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from registry.compatibility.modes import CompatibilityMode, directions, is_transitive
from registry.compatibility.verdicts import Direction
from registry.contract import ContractDigest, JsonValue
from registry.identifiers import ContractName
from registry.naming import ByDigest, read_name


class Standing(StrEnum):
    """What would become of it."""

    NEW = "new"
    UNCHANGED = "unchanged"
    """Its contract has this very revision."""
    REFUSED = "refused"
    INCOMPATIBLE = "incompatible"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on one submission. `revision` is the one that is there already."""

    submission: Submission
    standing: Standing
    digest: str | None = None
    revision: int | None = None
    compatibility: Members | None = None
    error: CommandError | None = None

    @property
    def passes(self) -> bool:
        """Whether it would be taken."""
        return self.standing in {Standing.NEW, Standing.UNCHANGED}

    def as_json(self) -> dict[str, JsonValue]:
        """What `--json` says of it."""
        members: dict[str, JsonValue] = {
            "name": self.submission.name,
            "file": str(self.submission.definition.path),
            "kind": self.submission.definition.kind.value,
            "result": self.standing.value,
            "revision": self.revision,
            "digest": self.digest,
            "compatibility": None if self.compatibility is None else self.compatibility.value,
        }
        if self.error is not None:
            members["error"] = {**self.error.members, "message": str(self.error), "code": self.error.code}
        return members


def would_register(gateway: Gateway, submission: Submission) -> Judged:
    """What registering would do, by a dry run of it. Raises `CommandError` where nothing can be said."""
    body = {**registration_body(submission), "dry_run": True}
    try:
        answer = gateway.post("/v1/contracts", body)
    except CommandError as error:
        return _refused(submission, error)
    return _judged(gateway, submission, answer, Standing.NEW)


def would_pass(gateway: Gateway, submission: Submission, mode: CompatibilityMode | None) -> Judged:
    """Whether a contract may be read and keeps a level: its own, or `mode`. Raises `CommandError` as above."""
    body: dict[str, JsonValue] = {"name": submission.name, **_text_members(submission)}
    if mode is not None:
        body["mode"] = mode.value
    try:
        answer = gateway.post("/v1/contracts/check", body)
    except CommandError as error:
        return _refused(submission, error)
    return _judged(gateway, submission, answer, _standing(answer.member("compatibility")))


def registration_body(submission: Submission) -> dict[str, JsonValue]:
    """The request that registers it."""
    return {"name": submission.name, **_text_members(submission), **submission.terms.name_members()}


def worst_exit(judged: Iterable[Judged]) -> Exit:
    """How a command ends that judged these: a no outweighs what is undecided."""
    standings = {each.standing for each in judged}
    if standings & {Standing.REFUSED, Standing.INCOMPATIBLE}:
        return Exit.NO
    return Exit.UNDECIDED if Standing.UNDECIDED in standings else Exit.FINE


def _text_members(submission: Submission) -> dict[str, JsonValue]:
    definition = submission.definition
    return {
        "kind": definition.kind.value,
        "definition": definition.value,
        **submission.terms.reading_members(),
    }


def _judged(gateway: Gateway, submission: Submission, answer: Members, standing: Standing) -> Judged:
    existing = _existing(gateway, submission, answer)
    return Judged(
        submission=submission,
        standing=standing if existing is None else Standing.UNCHANGED,
        digest=answer.text("digest"),
        revision=existing,
        compatibility=answer.member("compatibility"),
    )


def _existing(gateway: Gateway, submission: Submission, answer: Members) -> int | None:
    """The number of the newest revision with this digest, if it is the same in all that counts."""
    name = read_name(submission.name)
    if name is None:
        return None
    reference = ByDigest(digest=ContractDigest(answer.text("digest")), name=ContractName(name))
    place = revision_place(reference)
    try:
        revision = gateway.get(place.path, place.query).member("revision")
    except CommandError as error:
        if error.exit_code is Exit.NOT_FOUND:
            return None
        raise
    is_same = revision.text("annotation_digest") == answer.text("annotation_digest")
    is_same = is_same and revision.member("policy").value == submission.terms.reading_members()["policy"]
    return revision.number("number") if is_same else None


def _refused(submission: Submission, error: CommandError) -> Judged:
    if error.exit_code in {Exit.FORBIDDEN, Exit.TRY_AGAIN}:
        raise error
    match error.code:
        case "incompatible":
            standing = Standing.INCOMPATIBLE
        case "undecided":
            standing = Standing.UNDECIDED
        case _:
            standing = Standing.REFUSED
    return Judged(submission=submission, standing=standing, error=error)


def _standing(compatibility: Members) -> Standing:
    """What the level says, of an answer that reports and does not refuse."""
    if compatibility.value.get("accepted") is not False:
        return Standing.NEW
    level = CompatibilityMode(compatibility.text("level"))
    comparisons = compatibility.each("comparisons")
    asked = comparisons if is_transitive(level) else comparisons[:1]
    names = {Direction.CONSUMER_SAFE: "consumer_safe", Direction.PRODUCER_SAFE: "producer_safe"}
    verdicts = {each.member(names[direction]).text("verdict") for each in asked for direction in directions(level)}
    return Standing.INCOMPATIBLE if "unsafe" in verdicts else Standing.UNDECIDED
