"""Inductor's autotuner of one kernel, on a device that is not there."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.imported_file import imported_file

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def triton_poi_fused_add_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    offsets = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    mask = offsets < xnumel
    total = tl.load(in_ptr0 + offsets, mask) + tl.load(in_ptr1 + offsets, mask)
    tl.store(out_ptr0 + offsets, total, mask)
"""


@pytest.fixture
def autotuner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What Inductor generates for `x + y`, on a device that is not there."""
    import torch
    import triton
    from torch._inductor.runtime import triton_helpers
    from torch._inductor.runtime import triton_heuristics as heuristics
    from torch._inductor.runtime.hints import DeviceProperties

    path = tmp_path / "generated.py"
    path.write_text(KERNEL)
    module = imported_file(path, "generated")
    interface = SimpleNamespace(
        synchronize=lambda *_: None,
        device=lambda *_: contextlib.nullcontext(),
        exchange_device=lambda _index: 0,
        maybe_exchange_device=lambda _index: 0,
        current_device=lambda: 0,
    )
    monkeypatch.setattr(triton_helpers, "set_driver_to_gpu", lambda: None)
    monkeypatch.setattr(
        heuristics.CachingAutotuner, "get_device_interface", lambda _self: interface
    )
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    device = DeviceProperties(
        type="cuda", index=0, multi_processor_count=132, cc=90, major=9, warp_size=32
    )
    made = heuristics.CachingAutotuner(
        fn=module.triton_poi_fused_add_0,
        triton_meta={
            "signature": {
                "in_ptr0": "*fp32",
                "in_ptr1": "*fp32",
                "out_ptr0": "*fp32",
                "xnumel": "i32",
                "XBLOCK": "constexpr",
            },
            "device": device,
            "constants": {},
            "configs": [{(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]}],
        },
        configs=[triton.Config({"XBLOCK": 256}, num_warps=4, num_stages=1)],
        save_cache_hook=None,
        mutated_arg_names=[],
        optimize_mem=True,
        heuristic_type=heuristics.HeuristicType.POINTWISE,
        inductor_meta={"grid_type": "Grid1D", "kernel_name": "triton_poi_fused_add_0"},
        filename=str(path),
    )
    # The static launcher reads a cubin into a GPU.
    with torch._inductor.config.patch(use_static_cuda_launcher=False):
        yield made
