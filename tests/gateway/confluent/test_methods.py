"""A path of the façade that has other methods says which; a path that it has not is not there."""

from pathlib import Path

from tests.gateway.twins import gateway_with


async def test_a_method_that_a_path_has_not_is_answered_with_those_that_it_has(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        patched = await world.client.patch("/config")
        nowhere = await world.client.get("/subjects/a/b/c")
    assert (patched.status_code, patched.headers["allow"]) == (405, "DELETE, GET, PUT")
    assert patched.json() == {"error_code": 405, "message": "This path has no PATCH; it has DELETE, GET, PUT."}
    assert (nowhere.status_code, nowhere.json()["error_code"]) == (404, 404)
