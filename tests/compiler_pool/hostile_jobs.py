"""Jobs that misbehave in every way a native library can, for the worker's tests. The payload names the way."""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable

from compiler_pool.job import MAX_MESSAGE_BYTES, JsonLike


def factory(config: dict[str, JsonLike]) -> Callable[[bytes], bytes]:
    """The factory of the tests; its own failures are chosen by the configuration."""
    match config.get("fail"):
        case "raise":
            raise LookupError("no such tokenizer")
        case "hang":
            time.sleep(3600)
        case "exit":
            os._exit(3)

    def job(payload: bytes) -> bytes:
        name, _, argument = payload.partition(b":")
        return JOBS[name.decode()](argument)

    return job


def _spin_holding_the_lock(_: bytes) -> bytes:
    # One call into C that keeps the interpreter lock for good: no Python-level timer can interrupt it.
    return str(pow(3, 10**9)).encode()


def _hog(_: bytes) -> bytes:
    held = []
    while True:
        held.append(bytearray(16 * 1024 * 1024))


def _native_hog(_: bytes) -> bytes:
    return bytes(np_like := bytearray(3 * 1024**3)) + bytes(np_like)


def _overflow(_: bytes) -> bytes:
    # A C function that calls back into itself through Python: the stack is the kernel's to defend.
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    sys.setrecursionlimit(10**9)

    @callback  # type: ignore[untyped-decorator]
    def again(depth: int) -> int:
        return int(again(depth + 1))

    return str(again(0)).encode()


def _print(_: bytes) -> bytes:
    print("a stray line")  # noqa: T201
    os.write(1, b"\x02\x00\x00\x00\x01garbage")
    sys.stdin.read()
    return b"printed"


def _raise(argument: bytes) -> bytes:
    raise {b"ValueError": ValueError, b"SystemExit": SystemExit, b"KeyboardInterrupt": KeyboardInterrupt}[argument]


def _exit(argument: bytes) -> bytes:
    os._exit(int(argument))


def _kill(argument: bytes) -> bytes:
    os.kill(os.getpid(), int(argument))
    time.sleep(3600)
    return b""


def _sleep(argument: bytes) -> bytes:
    time.sleep(float(argument))
    return b"slept"


def _spin_and_tell_niceness(argument: bytes) -> bytes:
    """Spend so many CPU seconds; then how willingly this thread and the first one yield the processor."""
    ends = time.process_time() + float(argument)
    while time.process_time() < ends:
        pass
    return f"{os.getpriority(os.PRIO_PROCESS, 0)} {os.getpriority(os.PRIO_PROCESS, os.getpid())}".encode()


def _touch(argument: bytes) -> bytes:
    with open(argument, "ab") as file:  # noqa: PTH123
        file.write(b"x")
    return b"touched"


JOBS: dict[str, Callable[[bytes], bytes]] = {
    "echo": lambda argument: argument,
    "pid": lambda _: str(os.getpid()).encode(),
    "descriptors": lambda _: str(len(os.listdir("/proc/self/fd"))).encode(),  # noqa: PTH208
    "spin": _spin_holding_the_lock,
    "hog": _hog,
    "native hog": _native_hog,
    "overflow": _overflow,
    "huge": lambda _: b"x" * (MAX_MESSAGE_BYTES + 1),
    "print": _print,
    "raise": _raise,
    "exit": _exit,
    "kill": _kill,
    "sleep": _sleep,
    "niceness": _spin_and_tell_niceness,
    "touch": _touch,
    "thread": lambda _: str(threading.get_native_id()).encode(),
}
