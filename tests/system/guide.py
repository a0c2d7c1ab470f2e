"""A guide whose commands are run as they are printed, one shell for all of them.

In its fenced blocks `console` holds commands (`$ `, continued by `> `) and what they print; a block whose info string
has a second word is a file of that name. In expected output `…` stands for anything within a line, and a line of
nothing else for any lines.
"""

import os
import re
import secrets
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_FENCE = re.compile(r"^```(\S*) *(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that the reader is told to save."""

    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is typed, and what is printed then."""

    text: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A block that is only looked at; `language` says of what."""

    language: str


def steps(markdown: str) -> Iterator[File | Command | Unread]:
    """Everything fenced, in order."""
    for language, name, content in _FENCE.findall(markdown):
        if name:
            yield File(name=name, content=content)
        elif language == "console":
            yield from _commands(content)
        else:
            yield Unread(language=language)


def _commands(block: str) -> Iterator[Command]:
    typed: list[str] = []
    printed: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            if typed:
                yield Command(text="\n".join(typed), expected=tuple(printed))
            typed, printed = [line[2:]], []
        elif line.startswith("> ") and not printed:
            typed.append(line[2:])
        else:
            assert typed, f"output without a command: {line}"
            printed.append(line)
    if typed:
        yield Command(text="\n".join(typed), expected=tuple(printed))


def matches(expected: tuple[str, ...], actual: str) -> bool:
    """Whether the output is the expected one. Blanks at the ends of lines and empty lines around it do not count."""
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.rstrip().split("…"))) + "\n"
    lines = "".join(f"{line.rstrip()}\n" for line in actual.strip("\n").splitlines())
    return re.fullmatch(pattern, lines) is not None


class Shell:
    """A bash that keeps variables from one command to the next."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._marker = f"end-of-command-{secrets.token_hex(8)}"
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=dict(environment),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def run(self, command: str) -> tuple[int, str]:
        """Status and output. Nothing can be read from the terminal."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{{\n{command}\n}} </dev/null\nprintf '\\n%s %s\\n' {self._marker} $?\n".encode())
        stdin.flush()
        deadline = time.monotonic() + COMMAND_SECONDS
        output = b""
        end = re.compile(rb"\n%s (\d+)\n\Z" % self._marker.encode())
        while (found := end.search(output)) is None:
            assert select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))[0], f"{command}: no end"
            piece = os.read(stdout.fileno(), 65_536)
            assert piece, f"{command}: the shell ended: {output.decode()}"
            output += piece
        return int(found[1]), output[: found.start()].decode()
