"""Where tests find what is made once: the converted model and the shared corpora."""

import os
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parent.parent

# The product and the tests share one converted model; `make` sets the same default.
os.environ.setdefault("SCHEMAGATE_CACHE_DIR", str(ROOT / ".cache"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Without a GPU, Triton's kernels run in its interpreter. Triton looks once, when it is first imported.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# How long an example takes is the machine's doing, not the product's.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# A server is started by the first test that asks for one.
pytest_plugins = ["tests.postgres", "tests.redis_server"]
