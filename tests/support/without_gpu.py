"""Modules of tests that launch kernels without a GPU."""

from types import ModuleType

import pytest

from tests.support.triton_versions import TRITON


def torch_without_gpu(since: tuple[int, int] = (0, 0), what: str = "") -> ModuleType:
    """Return torch; skip the module without torch or Triton, where `what` is missing, or on a GPU.

    since: the first version of Triton that has what the module needs.
    """
    torch: ModuleType = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU", allow_module_level=True)
    if since > TRITON:
        pytest.skip(f"needs {what}", allow_module_level=True)
    return torch
