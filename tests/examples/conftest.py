"""Puts examples/ on the path, as running a script there does; gives Triton a place to launch."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
if find_spec("triton") is None:  # macOS and Windows: nothing here can launch
    collect_ignore_glob = ["test_train_kernels.py"]


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A GPU; without one the CPU, with kvtrace's capture on (or under TRITON_INTERPRET=1)."""
    import torch
    import triton

    if torch.cuda.is_available():
        yield "cuda"
        return
    if triton.knobs.runtime.interpret:
        yield "cpu"
        return
    import kvtrace

    with kvtrace.capture(tmp_path_factory.mktemp("trace")):
        yield "cpu"
