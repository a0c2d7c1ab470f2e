"""States go forwards, what is leaned on stays, names are never freed, and lists come in pages."""

from pathlib import Path

from tests.gateway.contracts.world import INVOICE, NARROWER, WIDER, error_of, registry


async def test_a_state_moves_forwards_only(tmp_path: Path) -> None:
    place = "/v1/contracts/invoice/revisions/1/state"
    async with registry(tmp_path) as here:
        await here.register(state="draft")
        states = [
            (await here.ask("POST", place, {"state": state, "reason": "why"})).json()["state"]
            for state in ("active", "deprecated", "sunset")
        ]
        back = await here.ask("POST", place, {"state": "active"})
        unknown = await here.ask("POST", place, {"state": "draft"})
        number = await here.ask("POST", "/v1/contracts/invoice/revisions/01/state", {"state": "active"})
    assert states == ["active", "deprecated", "sunset"]
    assert error_of(back) == (409, "backwards_state")
    assert error_of(unknown) == error_of(number) == (400, "invalid_value")


async def test_what_is_pointed_to_or_leaned_on_is_not_retired(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register("line", {"type": "string", "maxLength": 3})
        await here.register("order", {"type": "array", "items": {"$ref": "schemagate:line@1"}})
        await here.register()
        await here.promote(1)
        refused = [
            await here.ask("DELETE", path)
            for path in (
                "/v1/contracts/line/revisions/1",
                "/v1/contracts/line",
                "/v1/contracts/invoice/revisions/1",
            )
        ]
        usage = (await here.ask("GET", "/v1/contracts/line/usage")).json()
    assert [error_of(each) for each in refused] == [(409, "still_referenced")] * 3
    assert [(each["name"], each["revision"]) for each in usage["dependents"]] == [("order", 1)]
    assert not usage["safe_to_retire"]
    assert usage["reasons"]


async def test_a_name_is_never_free_again(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        assert (await here.ask("GET", "/v1/contracts/invoice/usage")).json()["safe_to_retire"]
        retired = await here.ask("DELETE", "/v1/contracts/invoice", {"reason": "over"})
        answers = [
            await here.ask("GET", "/v1/contracts/invoice"),
            await here.ask("GET", "/v1/contracts/invoice@1"),
            await here.ask("GET", "/v1/contracts/invoice/revisions"),
            await here.ask("POST", "/v1/contracts", {"name": "invoice", "schema": WIDER}),
        ]
        seen = await here.ask("GET", "/v1/contracts/invoice?include_retired=true")
        listed = (await here.ask("GET", "/v1/contracts")).json()["data"]
        all_listed = (await here.ask("GET", "/v1/contracts?include_retired=true")).json()["data"]
        numbers = (await here.ask("GET", "/v1/contracts/invoice/revisions?include_retired=true")).json()["data"]
        bytes_of_it = await here.ask("GET", "/v1/contracts/invoice@1?include_retired=true")
    assert (bytes_of_it.json()["source"], bytes_of_it.json()["revision"]["number"]) == (INVOICE, 1)
    assert retired.json()["retired_at"] is not None
    assert [error_of(each) for each in answers] == [(410, "contract_gone")] * 4
    assert seen.json()["contract"]["retired_at"] is not None
    assert listed == []
    assert [each["name"] for each in all_listed] == ["invoice"]
    assert [each["number"] for each in numbers] == [1]


async def test_a_contract_changes_under_its_etag(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register(description="old", compatibility="FULL")
        etag = (await here.ask("GET", "/v1/contracts/invoice")).headers["etag"]
        changed = await here.ask("PATCH", "/v1/contracts/invoice", {"description": "new"}, if_match=etag)
        late = await here.ask("PATCH", "/v1/contracts/invoice", {"description": "other"}, if_match=etag)
        cleared = await here.ask("PATCH", "/v1/contracts/invoice", {"compatibility": None, "team": "billing"})
        unknown = await here.ask("PATCH", "/v1/contracts/invoice", {"kind": "regex"})
        nothing = [
            await here.ask("PATCH", "/v1/contracts/invoice", {name: None}) for name in ("visibility", "description")
        ]
        team = await here.ask("PATCH", "/v1/contracts/invoice", {"team": "no team!"})
    assert (changed.json()["description"], changed.json()["compatibility"]) == ("new", "FULL")
    assert changed.headers["etag"] != etag
    assert error_of(late) == (412, "precondition_failed")
    assert (cleared.json()["compatibility"], cleared.json()["team"], cleared.json()["description"]) == (
        None,
        "billing",
        "new",
    )
    assert error_of(unknown) == (400, "unknown_parameter")
    assert [error_of(each) for each in nothing] == [(400, "invalid_type")] * 2
    assert error_of(team) == (400, "invalid_name")


async def test_a_teams_contract_is_changed_by_that_team(tmp_path: Path) -> None:
    async with (
        registry(tmp_path) as here,
        here.holding(principal="ann", team="billing", roles=["author"]) as ours,
        here.holding(principal="bob", team="shipping", roles=["author"]) as others,
    ):
        await ours.register(team="billing")
        refused = await others.ask("POST", "/v1/contracts", {"name": "invoice", "schema": WIDER})
        seen = await others.ask("GET", "/v1/contracts/invoice@1")
        operated = await here.ask("PATCH", "/v1/contracts/invoice", {"description": "x"})
    assert error_of(refused) == (403, "not_owner")
    assert seen.status_code == operated.status_code == 200


async def test_lists_come_in_pages_that_together_are_everything(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        for number in range(7):
            await here.register(f"c{number}", {"type": "string", "maxLength": number + 1})
        names: list[str] = []
        cursor = ""
        while True:
            page = (await here.ask("GET", f"/v1/contracts?limit=3{cursor}")).json()
            names += [each["name"] for each in page["data"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        foreign = await here.ask("GET", f"/v1/contracts?q=c{cursor}")
        garbled = await here.ask("GET", "/v1/contracts?cursor=garbled")
        found = (await here.ask("GET", "/v1/contracts?q=C3")).json()["data"]
        kinds = (await here.ask("GET", "/v1/contracts?kind=regex")).json()["data"]
        wrong = await here.ask("GET", "/v1/contracts?kind=xml")
    assert sorted(names) == [f"c{number}" for number in range(7)]
    assert len(names) == 7
    assert [each["name"] for each in found] == ["c3"]
    assert kinds == []
    assert error_of(foreign) == error_of(garbled) == (400, "invalid_name")
    assert error_of(wrong) == (400, "invalid_value")


async def test_revisions_come_newest_first(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        for schema in (INVOICE, WIDER, NARROWER):
            await here.register(schema=schema)
        page = (await here.ask("GET", "/v1/contracts/invoice/revisions?limit=2")).json()
        rest = (await here.ask("GET", f"/v1/contracts/invoice/revisions?limit=2&cursor={page['next_cursor']}")).json()
        latest = (await here.ask("GET", "/v1/contracts/invoice")).json()["latest"]
    assert [each["number"] for each in page["data"]] == [3, 2]
    assert [each["number"] for each in rest["data"]] == [1]
    assert rest["next_cursor"] is None
    assert latest["number"] == 3
