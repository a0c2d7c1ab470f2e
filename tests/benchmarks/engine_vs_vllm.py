"""Our engine against vLLM's CPU build: tokens a second, same weights, same dtype, same prompts, turn by turn.

    python -m tests.benchmarks.engine_vs_vllm --vllm DIR/bin/vllm [--dtype bfloat16] [--rounds 3]

vLLM runs as its own server in its own environment (it pins other versions) and is asked over HTTP, `ignore_eos`,
greedy, without a grammar; ours through the whole step loop, in this process. Ours waits while theirs is measured, and
theirs is stopped (`SIGSTOP`) while ours is: its threads spin for a while after their work. By itself vLLM leaves one
processor idle; here it is told to use all, and has our OpenMP settings, under which it was seen to be quicker, unless
`--untuned` leaves it as it comes. Exits 1 where ours is slower at batch 1 or 8.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import httpx
import torch

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.prepare import prepare_default_model
from inference_node.step_loop import StepLoop
from tests.benchmarks.engine_vs_transformers import BATCHES, TOPICS, our_tokens, prompt_of, running_loop

_READY_SECONDS = 300.0
_PORT = 8391


def main() -> int:
    """Serve, measure, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", type=Path, required=True)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--untuned", action="store_true", help="vLLM as it comes")
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    arguments = parser.parse_args()
    directory = prepare_default_model(arguments.cache_dir, lambda line: print(line, file=sys.stderr))
    tokenizer = load_tokenizer(directory)
    prompts = [prompt_of(tokenizer, topic) for topic in TOPICS]
    environment = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    if arguments.untuned:
        environment = {name: value for name, value in environment.items() if name not in OPENMP_WAITING}
    else:
        processors = sorted(os.sched_getaffinity(0))
        environment["VLLM_CPU_OMP_THREADS_BIND"] = f"{processors[0]}-{processors[-1]}"
    command = [arguments.vllm, "serve", directory, "--port", str(_PORT), "--max-model-len", "2048", "--enforce-eager",
               "--dtype", arguments.dtype, "--served-model-name", "m"]  # fmt: skip
    with Path(os.devnull).open("wb") as nowhere:
        server = subprocess.Popen([str(part) for part in command], env=environment, stdout=nowhere, stderr=nowhere,
                                  start_new_session=True)  # fmt: skip
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{_PORT}", timeout=300, limits=httpx.Limits(max_keepalive_connections=0)
        ) as http:
            vllm = _Vllm(http, server)
            vllm.wait_until_ready()
            with running_loop(directory, getattr(torch, arguments.dtype)) as loop:
                return _compare(vllm, loop, tokenizer, prompts, arguments)
    finally:
        server.terminate()
        server.wait(60)


@dataclass(frozen=True)
class _Vllm:
    """A server, leader of its own process group."""

    http: httpx.Client
    server: "subprocess.Popen[bytes]"

    def wait_until_ready(self) -> None:
        """Minutes."""
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            assert self.server.poll() is None, "vLLM ended by itself"
            assert time.monotonic() < deadline, "vLLM did not become ready"
            try:
                if self.http.get("/health").status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                time.sleep(0.5)

    def tokens(self, prompts: list[list[int]], num_new: int) -> int:
        """Decode all of them together; how many tokens that made."""

        def ask(prompt: list[int]) -> int:
            body = {"model": "m", "prompt": prompt, "max_tokens": num_new, "temperature": 0, "ignore_eos": True}
            answer = self.http.post("/v1/completions", json=body)
            answer.raise_for_status()
            return int(answer.json()["usage"]["completion_tokens"])

        with ThreadPoolExecutor(len(prompts)) as threads:
            return sum(threads.map(ask, prompts))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Take no processor time."""
        os.killpg(self.server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.server.pid, signal.SIGCONT)


def _compare(
    vllm: _Vllm,
    loop: StepLoop,
    tokenizer: BoundTokenizer,
    prompts: list[list[int]],
    arguments: argparse.Namespace,
) -> int:
    rates: dict[tuple[str, int], list[float]] = {}
    for number in range(arguments.rounds + 1):
        for batch in BATCHES:
            chosen = prompts[:batch]
            for name in ("vLLM", "ours"):
                with vllm.stopped() if name == "ours" else nullcontext():
                    started = time.perf_counter()
                    if name == "ours":
                        tokens = our_tokens(loop, tokenizer, chosen, arguments.new_tokens, None)
                    else:
                        tokens = vllm.tokens(chosen, arguments.new_tokens)
                    seconds = time.perf_counter() - started
                if number:  # the first round warms up
                    rates.setdefault((name, batch), []).append(tokens / seconds)
    is_met = True
    for batch in BATCHES:
        ours, theirs = median(rates["ours", batch]), median(rates["vLLM", batch])
        is_met &= ours >= theirs
        print(
            f"{arguments.dtype}, batch {batch}: ours {ours:.1f}, vLLM {theirs:.1f} tokens/s, ratio {ours / theirs:.2f}"
        )
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
