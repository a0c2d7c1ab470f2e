"""What a process that runs the model asks of its runtime libraries. Imports nothing that loads torch."""

import ctypes
from typing import Final

OPENMP_WAITING: Final = {"GOMP_SPINCOUNT": "10000", "OMP_WAIT_POLICY": "active"}
"""How threads wait for each other between products: for the environment, which OpenMP reads as torch is loaded.

Its default is to spin for ever where threads are as many as processors: with anything else busy beside it, steps were
measured a hundred times longer. Ten thousand spins, some tens of microseconds, keep a quiet machine's speed. Where
threads are more, the active policy spins a thousand times instead of a hundred.
"""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGEST_KEPT_BYTES: Final = 32 << 20


def keep_freed_memory() -> None:
    """Have the C library keep what steps free, up to 64 MiB, for the next step: nothing where it is not glibc.

    Pages that were given back have to be cleared by the system again, which doubled the time of sampling on a CPU. Both
    numbers are where glibc's own adaptation ends, https://man7.org/linux/man-pages/man3/mallopt.3.html.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
    mallopt(_M_TRIM_THRESHOLD, 2 * _LARGEST_KEPT_BYTES)
