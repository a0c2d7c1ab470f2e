"""The child's side of conform: `compiler_pool.child` runs `build` once, then its callable twice for each line."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cli.conform.remotes import load_remotes
from cli.conform.session import Session, Settings
from cli.conform.wire import Phase, read_job, write_answer
from compiler_pool.job import JsonLike
from compiler_pool.tokenizer import load_tokenizer
from gateway.validation.worker import MAX_FRAMES
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import LIMIT_CLASSES
from policy.text_bounds import TextBounds
from registry.contract import JsonValue

_UNDECLARED: Final = "max_undeclared"


def build(config: Mapping[str, JsonLike]) -> Callable[[bytes], bytes]:
    """A job that reads and compiles a line's contract, then one that tries its instances.

    `config`: `tokenizer` (path), `limits` (name of a limit class), `allow_checked_after`, `unknown_keyword`,
    `unknown_format`, `bounds` (by name; 0: none), `remotes` (directory or null), `remotes_base`.
    """
    # Only values of the line recurse, and those are bounded in nesting; the job's stack holds these frames.
    sys.setrecursionlimit(MAX_FRAMES)
    documents: dict[str, JsonValue] = {}
    if config["remotes"] is not None:
        documents = load_remotes(Path(str(config["remotes"])), str(config["remotes_base"]))
    session = Session(
        Settings(
            tokenizer=load_tokenizer(Path(str(config["tokenizer"]))),
            limits=LIMIT_CLASSES[str(config["limits"])],
            policy=EnforcementPolicy(
                allow_checked_after=config["allow_checked_after"] is True,
                unknown_keyword=Unknown(str(config["unknown_keyword"])),
                unknown_format=Unknown(str(config["unknown_format"])),
                bounds=_bounds(config["bounds"]),
            ),
            documents=documents,
        )
    )

    def job(payload: bytes) -> bytes:
        phase, line = read_job(payload)
        match phase:
            case Phase.CONTRACT:
                return write_answer(session.take_contract(line))
            case Phase.INSTANCES:
                return write_answer(session.try_instances())

    return job


def _bounds(named: JsonLike) -> TextBounds:
    assert isinstance(named, dict)
    # 0 is "no bound", but of undeclared members, where it is the bound.
    bounds = {name: bound for name, bound in named.items() if isinstance(bound, int) and (bound or name == _UNDECLARED)}
    return TextBounds(**bounds)
