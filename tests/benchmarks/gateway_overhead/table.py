"""The comparison as Markdown."""

from collections.abc import Sequence

from tests.benchmarks.gateway_overhead.measuring import Line, Measured

_HEAD = (
    "line",
    "server",
    "p50 ms",
    "p99 ms",
    "added p50 ms",
    "added p99 ms",
    "requests/s",
    "CPU ms/request",
    "requests/s per core",
)


def print_table(names: Sequence[str], results: Sequence[tuple[Line, Sequence[Measured]]]) -> None:
    """All numbers, then, where there is a peer, which comes last, how ours do against it."""
    _print_row(_HEAD)
    _print_row(["---"] * len(_HEAD))
    for line, measured in results:
        direct = measured[0]
        for name, each in zip(names, measured, strict=True):
            is_direct = each is direct
            _print_row(
                [
                    line.name if is_direct else "",
                    name if not is_direct else "the backend alone",
                    _ms(each.p(0.5)),
                    _ms(each.p(0.99)),
                    "" if is_direct else _ms(each.p(0.5) - direct.p(0.5)),
                    "" if is_direct else _ms(each.p(0.99) - direct.p(0.99)),
                    f"{each.per_second:,.0f}",
                    f"{1000 / each.per_core:.2f}",
                    f"{each.per_core:,.0f}",
                ]
            )
    print()
    if names[-1].startswith(names[1]):
        return
    _print_row(("line", f"beside {names[-1]}", "requests/s", "requests/s per core", "added p50", "added p99"))
    _print_row(["---"] * 6)
    for line, (direct, *both, theirs) in results:
        for name, ours in zip(names[1:-1], both, strict=True):
            _print_row(
                [
                    line.name if ours is both[0] else "",
                    name,
                    f"{ours.per_second / theirs.per_second:.1f} times",
                    f"{ours.per_core / theirs.per_core:.1f} times",
                    _part(ours.p(0.5) - direct.p(0.5), theirs.p(0.5) - direct.p(0.5)),
                    _part(ours.p(0.99) - direct.p(0.99), theirs.p(0.99) - direct.p(0.99)),
                ]
            )
    print()


def _part(ours: float, theirs: float) -> str:
    return f"1/{theirs / ours:.1f}" if ours > 0 else "none"


def _ms(value: float) -> str:
    return f"{value:.2f}"


def _print_row(cells: Sequence[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)
