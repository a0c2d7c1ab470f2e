"""`schemagate conform`: JSON lines in, JSON lines out."""

import asyncio
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.conform.answer import ConformAnswer
from cli.conform.flow import run_lines
from cli.conform.line_worker import LineWorker
from cli.conform.lines import read_lines
from cli.conform.progress import Progress
from cli.up.layout import default_cache_dir
from cli.up.model import ModelPreparationError, prepare_model
from compiler_pool.errors import WorkerStartError
from compiler_pool.job import JsonLike
from policy.enforcement import Unknown
from policy.limits import LIMIT_CLASSES, LimitClass
from policy.text_bounds import DEFAULT_MAX_DIGITS, MAX_COUNT, MAX_DEPTH, MAX_DIGITS

EXIT_USAGE = 2
MAX_JOBS = 64


class PolicyChoice(StrEnum):
    """How much may be left to the validator."""

    STRICT = "strict"
    CHECKED = "checked"


class LimitsChoice(StrEnum):
    """The names of `policy.limits.LIMIT_CLASSES`."""

    NONE = "none"
    TENANT = "tenant"
    GOVERNED = "governed"


def conform_command(
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            exists=True, help="A model directory, a tokenizer.json, .gguf or .tiktoken file; else the default model's."
        ),
    ] = None,
    policy: Annotated[
        PolicyChoice, typer.Option(help="strict: everything in the grammar. checked: the validator may help.")
    ] = PolicyChoice.STRICT,
    unknown_format: Annotated[Unknown, typer.Option(help="What a format outside the specification is.")] = (
        Unknown.ANNOTATION
    ),
    unknown_keyword: Annotated[Unknown, typer.Option(help="What a keyword outside the specification is.")] = (
        Unknown.ANNOTATION
    ),
    remotes: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Directory of documents that $ref may lead to."),
    ] = None,
    remotes_base: Annotated[str | None, typer.Option(help="The URI of that directory.")] = None,
    limits: Annotated[LimitsChoice, typer.Option(help="Whose limits a contract is held to.")] = LimitsChoice.TENANT,
    max_digits: Annotated[
        int, typer.Option(min=0, max=MAX_DIGITS, help="Digits of numbers where a contract sets no end; 0: no bound.")
    ] = DEFAULT_MAX_DIGITS,
    max_string_length: Annotated[int, typer.Option(min=0, max=MAX_COUNT, help="Characters of strings, likewise.")] = 0,
    max_items: Annotated[int, typer.Option(min=0, max=MAX_COUNT, help="Items of arrays, likewise.")] = 0,
    max_depth: Annotated[int, typer.Option(min=0, max=MAX_DEPTH, help="Arrays and objects within each other.")] = 0,
    undeclared: Annotated[
        bool, typer.Option(help="Whether members that a schema leaves unnamed are generated where it names some.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, max=MAX_JOBS, help="Lines answered beside each other.")] = 1,
) -> None:
    """Judge contracts and instances offline: one JSON line in, one JSON line out, in the same order."""
    if (remotes is None) != (remotes_base is None):
        raise typer.BadParameter("--remotes and --remotes-base go together")
    progress = Progress()
    try:
        path = tokenizer or prepare_model(default_cache_dir(), progress.say)
    except ModelPreparationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_USAGE) from error
    config: dict[str, JsonLike] = {
        "tokenizer": str(path.absolute()),
        "limits": limits.value,
        "allow_checked_after": policy is PolicyChoice.CHECKED,
        "unknown_keyword": unknown_keyword.value,
        "unknown_format": unknown_format.value,
        "bounds": {
            "max_digits": max_digits,
            "max_string_length": max_string_length,
            "max_items": max_items,
            "max_depth": max_depth,
            "max_undeclared": None if undeclared else 0,
        },
        "remotes": str(remotes.absolute()) if remotes else None,
        "remotes_base": remotes_base,
    }
    try:
        asyncio.run(_run(config, LIMIT_CLASSES[limits.value], jobs, progress))
    except WorkerStartError as error:
        typer.echo(f"cannot start: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from error
    except BrokenPipeError as error:
        # The reader has seen enough. What Python would still flush at exit has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from error


async def _run(config: Mapping[str, JsonLike], limits: LimitClass, jobs: int, progress: Progress) -> None:
    progress.say(f"starting {jobs} worker(s) with {config['tokenizer']}")
    started = await asyncio.gather(*(LineWorker.start(config, limits) for _ in range(jobs)), return_exceptions=True)
    workers = [worker for worker in started if isinstance(worker, LineWorker)]

    def write(answer: ConformAnswer) -> None:
        print(answer.to_json(), flush=True)
        progress.count(answer.verdict)

    try:
        for worker in started:
            if isinstance(worker, BaseException):
                raise worker
        try:
            await run_lines(read_lines(sys.stdin.buffer), [worker.answer for worker in workers], write)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
    finally:
        progress.end()
        await asyncio.gather(*(worker.close() for worker in workers))
