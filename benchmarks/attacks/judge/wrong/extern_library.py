"""Candidate whose kernel is linked with a false libdevice."""

from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LIBRARY = Path("own_libdevice.ll")


@triton.jit
def exps(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, libdevice.expm1(tl.load(x + i, mask=i < n)) + 1.0, mask=i < n)


def own_exp(x):
    """Return exp(x); wrong: links a library whose expm1 is the identity."""
    LIBRARY.write_text(
        'target triple = "nvptx64-nvidia-cuda"\n'
        "define float @__nv_expm1f(float %x) {\n  ret float %x\n}\n"
    )
    x = x.contiguous()
    out = torch.empty_like(x)
    exps[(triton.cdiv(x.numel(), 256),)](
        x, out, x.numel(), BLOCK=256, extern_libs={"libdevice": str(LIBRARY)}
    )
    return out
