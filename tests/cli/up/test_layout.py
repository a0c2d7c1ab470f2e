"""Where an embedded installation keeps what it must not lose and must not show."""

import stat
from pathlib import Path

from cli.up.layout import Layout, Ports, default_cache_dir, default_state_dir
from cli.up.services import embedded_services
from compiler_pool.frame import KeyRing


def layout(tmp_path: Path) -> Layout:
    return Layout(host="127.0.0.1", ports=Ports(), state_dir=tmp_path / "state", cache_dir=tmp_path / "cache")


def test_the_pepper_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    where = layout(tmp_path)
    where.prepare()
    pepper = where.pepper()
    assert where.pepper() == pepper
    assert stat.S_IMODE((where.state_dir / "pepper").stat().st_mode) == 0o600
    assert stat.S_IMODE(where.state_dir.stat().st_mode) == 0o700


def test_frame_keys_outlive_a_start_unless_the_environment_names_others(tmp_path: Path) -> None:
    where = layout(tmp_path)
    where.prepare()
    kept = where.artifact_keys({})
    assert where.artifact_keys({}) == kept
    assert KeyRing.from_text(kept).signing_id.startswith("up-")
    assert stat.S_IMODE((where.state_dir / "artifact-keys").stat().st_mode) == 0o600
    assert where.artifact_keys({"SCHEMAGATE_ARTIFACT_KEYS": "k:aa"}) == "k:aa"


def test_directories_follow_the_environment(tmp_path: Path) -> None:
    assert default_state_dir({"SCHEMAGATE_STATE_DIR": str(tmp_path)}) == tmp_path
    assert default_state_dir({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "schemagate"
    assert default_cache_dir({"SCHEMAGATE_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert default_cache_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "schemagate"


def test_an_address_that_listens_everywhere_is_reached_over_loopback(tmp_path: Path) -> None:
    everywhere = Layout(host="0.0.0.0", ports=Ports(), state_dir=tmp_path, cache_dir=tmp_path)
    assert everywhere.url(8080) == "http://127.0.0.1:8080"
    assert Layout(host="::1", ports=Ports(), state_dir=tmp_path, cache_dir=tmp_path).url(1) == "http://[::1]:1"


def test_only_pool_and_node_hold_the_key_that_signs_frames(tmp_path: Path) -> None:
    services = embedded_services(layout(tmp_path), model_dir=tmp_path, artifact_keys="k:aa", pepper="bb")
    holders = {one.name for one in services if "k:aa" in one.environment.values()}
    assert holders == {"pool", "node"}
    assert [one.name for one in services if "bb" in one.environment.values()] == ["gateway"]
    assert "k:aa" not in repr(services)
