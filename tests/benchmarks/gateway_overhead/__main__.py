"""What does a schema gateway cost over asking the model directly, and what does another gateway cost? Prints a table.

    python -m tests.benchmarks.gateway_overhead [--quick] [--litellm ENV/bin/litellm] [--callers 1,16,64]

One backend that costs next to nothing, one real compiler pool, the gateway as `python -m gateway`, and LiteLLM's proxy
from an environment of its own where `--litellm` names one. A measured server has one processor to itself with its
children; backend and callers have another. Every caller sends the same strict JSON Schema contract, warm, and every
stage is on: authentication, budgets, the validator's verdict, metrics, audit lines. Two lines of ours: over a node that
decodes under the grammar, and over a server that speaks OpenAI's API, where the validator stands alone. LiteLLM passes
the contract on and checks nothing. Rounds alternate between the backend alone and the gateways, and added times are
differences to it.
"""

import argparse
import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import psutil

from tests.benchmarks.gateway_overhead.measuring import Line, Measured, measure
from tests.benchmarks.gateway_overhead.servers import (
    Cores,
    Server,
    litellm_server,
    over_openai,
    schemagate_server,
    stub_server,
)
from tests.benchmarks.gateway_overhead.table import print_table
from tests.benchmarks.gateway_overhead.workload import MODEL
from tests.compiler_pool.running_pool import running_pool


async def _compare(options: argparse.Namespace) -> None:
    cores = Cores(measured=options.measured_core, others=options.other_core)
    os.sched_setaffinity(0, {cores.others})
    lines = [Line(callers=callers, stream=stream) for stream in (False, True) for callers in options.callers]
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool = await stack.enter_async_context(running_pool(directory, num_workers=1))
        stub = await stack.enter_async_context(stub_server(cores, pool.digest, options.tokens, directory / "stub.log"))
        servers: list[Server] = [stub]
        servers.append(
            await stack.enter_async_context(
                schemagate_server(
                    cores, pool_url=pool.url, node_url=stub.base_url, directory=directory,
                    settings=dict(pair.split("=", 1) for pair in options.set),
                )
            )
        )  # fmt: skip
        servers.append(over_openai(servers[1]))
        if options.litellm is not None:
            servers.append(
                await stack.enter_async_context(
                    litellm_server(cores, executable=options.litellm, backend_url=stub.base_url, directory=directory)
                )
            )
        print(f"{psutil.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before the start\n", flush=True)
        await measure(Line(callers=4, stream=False), servers, cores, rounds=1, seconds=1.0)  # warm
        results: list[tuple[Line, list[Measured]]] = []
        for line in lines:
            measured = await measure(line, servers, cores, rounds=options.rounds, seconds=options.seconds)
            results.append((line, measured))
            print(f"measured: {line.name}", flush=True)
        print()
        print_table([server.name for server in servers], results)
        for server in (each for each in servers[1:] if each.model == MODEL):
            print(f"{server.name}: {server.memory_mib():.0f} MiB resident at the end")


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--litellm", type=Path, help="the peer's executable, in an environment of its own")
    parser.add_argument("--callers", type=lambda text: [int(each) for each in text.split(",")], default=[1, 16, 64])
    parser.add_argument("--tokens", type=int, default=24, help="tokens of the answer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each round of each server")
    parser.add_argument("--measured-core", type=int, default=0)
    parser.add_argument("--other-core", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the gateway's")
    parser.add_argument("--quick", action="store_true", help="two rounds of two seconds")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 2, 2.0
    asyncio.run(_compare(options))


if __name__ == "__main__":
    main()
