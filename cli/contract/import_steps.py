"""The writes of an import, in the order in which each finds what it needs: texts, states, signatures, aliases, the end.

A revision that was retired is registered and retired again, so that those after it have their numbers. It is retired
last, unless a later one has the same content: registering that would only find it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cli.contract.export_file import Export
from cli.contract.import_plan import Plan, same_content
from cli.contract.naming import contract_place
from cli.contract.recomputing import mismatch
from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from registry.contract import JsonValue
from registry.revision import RevisionState

_ORDER: Final = tuple(RevisionState)
_REASON: Final = "imported"


@dataclass(slots=True)
class Done:
    """What has been done so far; told also where the import stops."""

    revisions: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, JsonValue]:
        """Each list by its name."""
        lists = {
            "revisions": self.revisions,
            "states": self.states,
            "signatures": self.signatures,
            "aliases": self.aliases,
            "retired": self.retired,
            "notes": self.notes,
        }
        return {name: [*items] for name, items in lists.items()}


class ImportSteps:
    """Takes the steps of a plan; `done` grows with each."""

    def __init__(self, gateway: Gateway, export: Export, plan: Plan) -> None:
        self._gateway = gateway
        self._export = export
        self._plan = plan
        self._to_retire: dict[str, Members] = {}
        self.done = Done()

    def take(self) -> None:
        """All of them. Raises `CommandError` at the first that is refused or comes out otherwise."""
        states: dict[str, str] = {}
        for answer in self._plan.present:
            found = self._gateway.get(f"/v1/contracts/{spelled(answer)}", {"include_retired": "true"})
            states[spelled(answer)] = found.member("revision").text("state")
            if found.member("revision").optional_text("retired_at") is None:
                self._note_end(answer)
        for answer in self._plan.register:
            self._retire_same(answer)
            states[spelled(answer)] = self._register(answer)
            self._note_end(answer)
        for answer in (*self._plan.present, *self._plan.register):
            if not is_retired(answer):
                self._move_state(answer, states[spelled(answer)])
        for name in sorted(self._plan.new_contracts):
            level = self._export.contracts[name].optional_text("compatibility")
            if level is not None:
                # Only now: it was perhaps set after revisions that do not keep it.
                self._gateway.write("PATCH", contract_place(name).path, {"compatibility": level})
        for signature in self._export.signatures:
            self._sign(signature)
        for text, (name, alias, number) in alias_moves(self._export, self._plan):
            place = contract_place(name, below=f"/aliases/{alias}")
            moved = self._gateway.write("PUT", place.path, {"revision": number, "reason": _REASON})
            proposed = f" (proposed as {moved.members.text('id')})" if moved.status == 202 else ""
            self.done.aliases.append(f"{text}{proposed}")
        for answer in reversed(list(self._to_retire.values())):  # what refers to others before what it refers to
            self._retire(answer)

    def _register(self, answer: Members) -> str:
        """Register one revision; its state then. Raises `CommandError` where it comes out as another one."""
        contract, revision = answer.member("contract"), answer.member("revision")
        state = RevisionState.DRAFT if revision.text("state") == RevisionState.DRAFT else RevisionState.ACTIVE
        body: dict[str, JsonValue] = {
            "name": contract.text("name"),
            "kind": revision.text("kind"),
            "definition": answer.value["source"],
            "policy": revision.member("policy").value,
            "state": state.value,
            "message": revision.text("message"),
        }
        if revision.optional_text("dialect") is not None:
            body["dialect"] = revision.text("dialect")
        if contract.text("name") in self._plan.new_contracts and revision.number("number") == 1:
            said = ("team", "visibility", "class", "description")
            body |= {name: contract.value[name] for name in said if contract.value.get(name) is not None}
        kept = self._gateway.write("POST", "/v1/contracts", body).members
        number, digest = kept.member("revision").number("number"), kept.text("digest")
        if (number, digest) != (revision.number("number"), revision.text("digest")):
            raise mismatch(f"{spelled(answer)} came out as number {number} and {digest}")
        self.done.revisions.append(spelled(answer))
        return kept.member("revision").text("state")

    def _note_end(self, answer: Members) -> None:
        if is_retired(answer):
            self._to_retire[spelled(answer)] = answer

    def _retire_same(self, answer: Members) -> None:
        """Retire now what a text would otherwise be taken for."""
        name, revision = answer.member("contract").text("name"), answer.member("revision")
        for waiting in list(self._to_retire.values()):
            is_same_name = waiting.member("contract").text("name") == name
            if is_same_name and same_content(waiting.member("revision"), revision):
                self._retire(waiting)
                del self._to_retire[spelled(waiting)]

    def _retire(self, answer: Members) -> None:
        name, number = answer.member("contract").text("name"), answer.member("revision").number("number")
        self._gateway.write("DELETE", contract_place(name, below=f"/revisions/{number}").path, {"reason": _REASON})
        self.done.retired.append(spelled(answer))

    def _move_state(self, answer: Members, now: str) -> None:
        revision = answer.member("revision")
        wanted = RevisionState(revision.text("state"))
        if _ORDER.index(wanted) <= _ORDER.index(RevisionState(now)):
            return
        name, number = answer.member("contract").text("name"), revision.number("number")
        place = contract_place(name, below=f"/revisions/{number}/state")
        self._gateway.write("POST", place.path, {"state": wanted.value, "reason": revision.text("state_reason")})
        self.done.states.append(f"{spelled(answer)} is {wanted.value}")

    def _sign(self, line: Members) -> None:
        """Hand a signature in; one that is not taken is told, and stops nothing: it can be handed in again."""
        name, number = line.text("signature_of"), line.number("number")
        if name not in self._export.contracts:
            return
        key_id = line.member("signature").text("key_id")
        place = contract_place(name, below=f"/revisions/{number}/signatures")
        body: dict[str, JsonValue] = {"key_id": key_id, "signature": line.member("signature").text("signature")}
        try:
            self._gateway.write("POST", place.path, body)
            self.done.signatures.append(f"{name}@{number} by {key_id}")
        except CommandError as error:
            if error.code == "already_signed":
                return
            if error.exit_code is not Exit.NO:
                raise
            self.done.notes.append(f"the signature of {name}@{number} by {key_id} was not taken: {error}")


def alias_moves(export: Export, plan: Plan) -> Iterator[tuple[str, tuple[str, str, int]]]:
    """The aliases that do not name there what they name in the file: in words, and as name, alias, number."""
    for line in export.aliases:
        name, alias = line.text("alias_of"), line.member("alias")
        number = alias.number("revision")
        if plan.target_aliases.get(name, {}).get(alias.text("alias")) != number:
            yield f"{name}@{alias.text('alias')} → {number}", (name, alias.text("alias"), number)


def is_retired(answer: Members) -> bool:
    """Whether the file says so of a revision."""
    return answer.member("revision").optional_text("retired_at") is not None


def spelled(answer: Members) -> str:
    """`name@number`."""
    return f"{answer.member('contract').text('name')}@{answer.member('revision').number('number')}"
