"""A trace recorded for real, without a GPU: the passes read nothing but its files."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace

if find_spec("triton") is None:  # macOS and Windows: nothing here can launch
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A trace directory with one run: each kernel of kernels.py, launched once or twice."""
    import torch

    import kvtrace
    from tests.metrics import kernels

    out = tmp_path_factory.mktemp("passes") / "out"
    x, y = torch.randn(1000), torch.empty(1000)
    whole = torch.randn(6, 100)
    with kvtrace.capture(out, tensors="none"):
        kernels.copy[(4,)](x, y, 1000, BLOCK=256)
        kernels.copy[(4,)](x, y, 1000, BLOCK=256)
        kernels.copy[(2,)](whole[:4].flatten(), whole[4:], 200, BLOCK=128)
        kernels.copy_without_mask[(4,)](x, y, 1000, BLOCK=256)
        kernels.copy_without_mask[(1,)](x[:100], y[:100], 100, BLOCK=128)
        kernels.read_before[(1,)](x, y, BLOCK=16)
        kernels.gather[(4,)](x, torch.randint(0, 1000, (1000,)), y, 1000, BLOCK=256)
        kernels.row_sums[(6,)](whole, y, 6, 100, BLOCK=32)
    return out


@pytest.fixture
def trace(recorded):
    return open_trace(recorded)


def line_of(text):
    """Line number of the only line of kernels.py that holds `text`."""
    from tests.metrics import kernels

    lines = Path(kernels.__file__).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, start=1) if text in line]
    return number
