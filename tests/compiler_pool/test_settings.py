"""Settings of the pool that are more than a number."""

import pytest
from pydantic import SecretStr, ValidationError

from compiler_pool.settings import PoolSettings


def settings(redis_url: str | None) -> PoolSettings:
    url = None if redis_url is None else SecretStr(redis_url)
    return PoolSettings(tokenizers="x", artifact_keys=SecretStr("k:00"), redis_url=url)


@pytest.mark.parametrize("url", ["redis://localhost:6379/0", "rediss://u:p@host", "unix:///run/redis.sock"])
def test_a_redis_is_named_by_its_url_which_is_never_printed(url: str) -> None:
    taken = settings(url)
    assert taken.redis_url is not None
    assert taken.redis_url.get_secret_value() == url
    assert url not in repr(taken)


def test_an_empty_url_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings("").redis_url is None
    monkeypatch.setenv("SCHEMAGATE_REDIS_URL", "redis://elsewhere")
    named = PoolSettings(tokenizers="x", artifact_keys=SecretStr("k:00"))
    assert named.redis_url is not None
    assert named.redis_url.get_secret_value() == "redis://elsewhere"


def test_another_scheme_is_refused() -> None:
    with pytest.raises(ValidationError, match="must begin with"):
        settings("http://localhost:6379")
