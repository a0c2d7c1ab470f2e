"""Aliases move under preconditions, through two persons where policy says so, and back."""

from pathlib import Path

from tests.gateway.contracts.world import NARROWER, WIDER, error_of, registry

PROD = "/v1/contracts/invoice/aliases/prod"


async def test_an_alias_is_made_moved_and_its_etag_follows(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        await here.register(schema=WIDER)
        made = await here.ask("PUT", PROD, {"revision": 1, "reason": "go"}, if_none_match="*")
        again = await here.ask("PUT", PROD, {"revision": 2}, if_none_match="*")
        moved = await here.ask("PUT", PROD, {"revision": 2}, if_match=made.headers["etag"])
        late = await here.ask("PUT", PROD, {"revision": 1}, if_match=made.headers["etag"])
        seen = await here.ask("GET", PROD)
        listed = await here.ask("GET", "/v1/contracts/invoice/aliases")
        contract = await here.ask("GET", "/v1/contracts/invoice")
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    assert error_of(again) == error_of(late) == (412, "precondition_failed")
    assert late.json()["error"]["observed"] == 2
    assert (moved.status_code, moved.headers["etag"]) == (200, '"2"')
    assert moved.json()["alias"]["previous"] == 1
    assert seen.json() == moved.json()
    assert seen.headers["etag"] == '"2"'
    assert listed.json()["data"] == contract.json()["aliases"] == [seen.json()["alias"]]


async def test_promoting_a_draft_activates_it(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register(state="draft")
        await here.promote(1)
        found = await here.ask("GET", "/v1/contracts/invoice@prod")
    assert found.json()["revision"]["state"] == "active"


async def test_an_alias_goes_back_to_what_it_named_before_and_can_be_dropped(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        await here.register(schema=WIDER)
        await here.promote(1)
        nothing_before = await here.ask("POST", f"{PROD}/rollback", {"reason": "oh"})
        await here.promote(2)
        back = await here.ask("POST", f"{PROD}/rollback", {"reason": "it broke"})
        events = (await here.ask("GET", "/v1/audit?limit=100")).json()["data"]
        late = await here.ask("DELETE", PROD, if_match='"1"')
        dropped = await here.ask("DELETE", PROD, if_match=back.headers["etag"])
        gone = await here.ask("GET", PROD)
    assert nothing_before.status_code == 409
    assert back.json()["alias"]["revision"] == 1
    assert "alias.rolled_back" in {event["action"] for event in events}
    assert error_of(late) == (412, "precondition_failed")
    assert (dropped.status_code, dropped.content) == (204, b"")
    assert error_of(gone) == (404, "alias_not_found")


async def test_only_a_move_that_makes_the_alias_is_answered_as_created(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        first, same = [await here.ask("PUT", PROD, {"revision": 1}) for _ in range(2)]
        await here.ask("DELETE", PROD)
        anew = await here.ask("PUT", PROD, {"revision": 1})
    assert [each.status_code for each in (first, same, anew)] == [201, 200, 201]
    assert anew.headers["etag"] == '"2"'


async def test_what_is_no_alias_or_no_revision_is_told_apart(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        refused = [
            await here.ask("PUT", "/v1/contracts/invoice/aliases/latest", {"revision": 1}),
            await here.ask("PUT", "/v1/contracts/invoice/aliases/Prod", {"revision": 1}),
            await here.ask("PUT", PROD, {"revision": 9}),
            await here.ask("PUT", PROD, {"revision": 0}),
            await here.ask("PUT", PROD, {"revision": 1}, if_match="*"),
            await here.ask("GET", "/v1/contracts/invoice@1000000000000"),
        ]
    assert [error_of(each) for each in refused] == [
        (400, "invalid_name"),
        (400, "invalid_name"),
        (404, "revision_not_found"),
        (400, "invalid_value"),
        (400, "invalid_value"),
        (400, "invalid_name"),
    ]


async def test_a_second_person_applies_what_the_first_proposed(tmp_path: Path) -> None:
    async with (
        registry(tmp_path) as here,
        here.holding(principal="author", roles=["author", "approver"]) as author,
        here.holding(principal="approver", roles=["approver"]) as approver,
    ):
        await here.ask("PUT", "/v1/policy", {"two_person_promotion": True})
        await author.register()
        proposed = await author.ask("PUT", PROD, {"revision": 1, "reason": "please"})
        place = proposed.headers["location"]
        unmoved = await here.ask("GET", PROD)
        waiting = (await here.ask("GET", "/v1/promotions?state=proposed")).json()["data"]
        own = await author.ask("POST", f"{place}/approve", {"reason": "me"})
        applied = await approver.ask("POST", f"{place}/approve", {"reason": "fine"})
        twice = await approver.ask("POST", f"{place}/approve", {})
        decided = await here.ask("GET", place)
        free = await author.ask("PUT", "/v1/contracts/invoice/aliases/canary", {"revision": 1})
    assert proposed.status_code == 202
    assert (proposed.json()["state"], proposed.json()["proposed_by"]) == ("proposed", "author")
    assert error_of(unmoved) == (404, "alias_not_found")
    assert [each["id"] for each in waiting] == [proposed.json()["id"]]
    assert error_of(own) == (403, "second_person_required")
    assert (applied.status_code, applied.json()["alias"]["revision"]) == (200, 1)
    assert applied.headers["etag"] == '"1"'
    assert twice.status_code == 409
    assert (decided.json()["state"], decided.json()["decided_by"]) == ("applied", "approver")
    assert free.status_code == 201


async def test_a_proposal_can_be_turned_down_and_taken_back(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(principal="approver", roles=["approver"]) as approver:
        await here.ask("PUT", "/v1/policy", {"two_person_promotion": True})
        await here.register()
        first, same = [await here.ask("PUT", PROD, {"revision": 1}) for _ in range(2)]
        rejected = await approver.ask("POST", f"{first.headers['location']}/reject", {"reason": "no"})
        second = await here.ask("PUT", PROD, {"revision": 1})
        withdrawn = await here.ask("POST", f"{second.headers['location']}/withdraw", {})
    assert (same.status_code, same.content) == (202, first.content)
    assert (rejected.status_code, rejected.json()["state"]) == (200, "rejected")
    assert (withdrawn.status_code, withdrawn.json()["state"]) == (200, "withdrawn")


async def test_safety_is_asked_of_protected_aliases_and_an_operator_may_override(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.ask("PUT", "/v1/policy", {"promotion_safety": "consumer_safe"})
        await here.register()
        await here.register(schema=WIDER)
        await here.register(schema=NARROWER)
        await here.promote(1)
        refused = await here.ask("PUT", PROD, {"revision": 2})
        free = await here.ask("PUT", "/v1/contracts/invoice/aliases/canary", {"revision": 2})
        safe = await here.ask("PUT", PROD, {"revision": 3})
        forced = await here.ask("PUT", PROD, {"revision": 2, "override": True, "reason": "we know"})
        async with here.holding(principal="author", roles=["author"]) as author:
            barred = await author.ask("PUT", PROD, {"revision": 1, "override": True})
    assert error_of(refused) == (409, "incompatible")
    assert refused.json()["error"]["question"] == "consumer_safe"
    assert free.status_code == 201
    assert safe.status_code == 200
    assert forced.status_code == 200
    assert error_of(barred) == (403, "forbidden")
