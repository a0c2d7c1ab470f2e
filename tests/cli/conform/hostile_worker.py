"""A child that does what the line says, for tests of what surrounds it."""

import ctypes
from collections.abc import Callable, Mapping

from cli.conform.answer import ConformAnswer, ConformVerdict, InstanceAnswer, MaskTimes
from cli.conform.lines import line_id
from cli.conform.wire import ContractAnswer, InstancesAnswer, Phase, read_job, write_answer
from compiler_pool.job import JsonLike


def build(_config: Mapping[str, JsonLike]) -> Callable[[bytes], bytes]:
    """`crash`, `spin`, `hoard` or `raise` in a line happen; `later` makes them happen with the instances."""
    pending = b""

    def job(payload: bytes) -> bytes:
        nonlocal pending
        phase, line = read_job(payload)
        if phase is Phase.INSTANCES:
            _do(pending)
            instances = (InstanceAnswer(generable=True, valid=True),)
            return write_answer(InstancesAnswer(instances=instances, mask_us=MaskTimes(), first_mask_ms=0.0))
        pending = line
        if b"later" not in line:
            _do(line)
        answer = ConformAnswer(id=line_id(line), verdict=ConformVerdict.ACCEPTED, contract_digest="sha256:0")
        return write_answer(ContractAnswer(answer=answer, num_instances=1))

    return job


def _do(line: bytes) -> None:
    if b"crash" in line:
        ctypes.string_at(0)
    if b"hoard" in line:
        bytearray(1 << 40)
    if b"raise" in line:
        raise ValueError("a fault of ours")
    while b"spin" in line:
        pass
