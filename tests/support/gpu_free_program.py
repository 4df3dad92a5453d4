"""Run as a script under any Triton, on a machine without a GPU: launches that must come out right.

Prints what it saw as JSON, for `tests/backends/triton/test_device_free.py`.
"""

import json
import sys
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kvtrace.backends.triton import device_free
from kvtrace.settings import Settings
from tests.support.corpus_cases import vector_add


@triton.jit
def unmasked(x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes))


@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=4) for block in (64, 128, 256)],
    key=["n"],
    reset_to_zero=["total"],
)
@triton.jit
def accumulated(x, total, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 64, "so that the first configuration does not compile")
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


@triton.heuristics({"BLOCK": lambda meta: triton.next_power_of_2(meta["n"])})
@triton.jit
def scaled(pair, factor, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(pair[0] + lanes, mask=lanes < n)
    tl.store(pair[1] + lanes, value * factor, mask=lanes < n)


@triton.jit
def doubled_rows(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) * 2)


class Session:
    """What the driver needs of a session; keeps what it is told."""

    settings = Settings(target=sys.argv[1])
    leaves_nothing = False

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []

    def message(self, level: str, code: str, text: str, *, is_printed: bool = False) -> None:
        self.messages.append((level, code, text))


def adds(dtype: torch.dtype) -> bool:
    x = torch.arange(1000).remainder(7).to(dtype)
    y = torch.arange(1000).remainder(5).to(dtype)
    out = torch.zeros(1000, dtype=dtype)
    vector_add[(4,)](x, y, out, 1000, BLOCK=256)
    return torch.equal(out, x + y)


def main() -> None:
    session = Session()
    device_free.install(session)  # type: ignore[arg-type]
    seen: dict[str, Any] = {"version": triton.__version__}
    seen["device"] = str(triton.runtime.driver.active.get_active_torch_device())

    x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    kernel = vector_add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    seen["add"] = torch.equal(out, x + y)
    seen["stages"] = list(kernel.asm)
    seen["registers"] = kernel.n_regs
    dtypes = (torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.int64, torch.int8)
    seen["dtypes"] = {str(dtype): adds(dtype) for dtype in dtypes}
    whole = torch.zeros(64, 64)
    vector_add[(1,)](whole[3, 5:25], whole[3, 5:25] + 1, whole[9, 1:21], 20, BLOCK=32)
    seen["views"] = whole.sum().item() == whole[9, 1:21].sum().item() == 20

    short, wide = torch.randn(1000), torch.zeros(1024)
    for _ in range(2):
        unmasked[(4,)](short, wide, BLOCK=256)
    seen["unmasked"] = torch.equal(wide[:1000], short) and not wide[1000:].any().item()

    total = torch.ones(1000)
    for _ in range(2):
        accumulated[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, total, 1000)
    seen["block"] = accumulated.best_config.kwargs["BLOCK"]
    seen["autotuned"] = torch.equal(total, x + x)

    scaled[(1,)]((x, out), 2.5, 1000)
    seen["tuple"] = torch.equal(out, x * 2.5)
    rows, twice = torch.randn(50, 64), torch.zeros(50, 64)
    doubled_rows[(2,)](
        TensorDescriptor.from_tensor(rows, [32, 64]),
        TensorDescriptor.from_tensor(twice, [32, 64]),
        BLOCK=32,
    )
    seen["descriptors"] = torch.equal(twice, rows * 2)
    seen["milliseconds"] = triton.testing.do_bench(
        lambda: vector_add[(4,)](x, y, out, 1000, BLOCK=256), warmup=1, rep=2
    )
    try:
        vector_add[(1,)](x.to("meta"), y, out, 10, BLOCK=256)
    except Exception as error:
        seen["meta"] = f"{type(error).__name__}: {error}"

    seen["messages"] = session.messages
    device_free.uninstall()
    out.zero_()
    vector_add[(4,)](x, y, out, 1000, BLOCK=256)
    seen["goes on"] = torch.equal(out, x + y) and len(session.messages) == len(seen["messages"])
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
