"""Cases of Liger's kernels and of the operations in Triton's tutorials, as their tests have them.

Liger's tolerances are those of its tests/transformers of 2024 to 2026.
"""

from typing import Any

import torch
import triton

from benchmarks.tolerance_cases import (
    BF16,
    F16,
    F32,
    Case,
    drawn,
    each_type,
    normal,
    uniform,
)
from benchmarks.tolerance_mutants import (
    ADD_MUTANTS,
    ATTENTION_MUTANTS,
    DYT_MUTANTS,
    GEGLU_MUTANTS,
    GROUP_MUTANTS,
    KL_MUTANTS,
    LAYER_MUTANTS,
    MATMUL_MUTANTS,
    POLY_MUTANTS,
    RELU_MUTANTS,
    RMS_MUTANTS,
    SOFTMAX_MUTANTS,
    SWIGLU_MUTANTS,
    TUTORIAL_LAYER_MUTANTS,
    TUTORIAL_SOFTMAX_MUTANTS,
)
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings

OURS = "benchmarks/tolerance_kernels.py"
LIGER = "liger_kernel/ops"
ROWS, COLUMNS = 6, 431


def rms(x: torch.Tensor, w: torch.Tensor, offset: float = 0.0) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (offset + w)


def layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-6)


def matmul(module: Any, a: torch.Tensor, b: torch.Tensor, precision: str) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty(m, n, dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    module.matmul[grid](a, b, out, m, n, k, PRECISION=precision, BLOCK=32)
    return out


def attention(module: Any, q: Any, k: Any, v: Any) -> torch.Tensor:
    out = torch.empty_like(q)
    length, depth = q.shape
    module.attention[(triton.cdiv(length, 32),)](
        q, k, v, out, length, depth**-0.5, DEPTH=depth, BLOCK=32
    )
    return out


def attended(q: Any, k: Any, v: Any) -> torch.Tensor:
    return torch.softmax(q @ k.T * q.shape[1] ** -0.5, -1) @ v


def ours_softmax(module: Any, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    module.softmax[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def ours_layer_norm(module: Any, x: Any, w: Any, b: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    module.layer_norm[(len(x),)](x, w, b, out, x.shape[1], 1e-6, BLOCK=128)
    return out


def ours_add(module: Any, x: Any, y: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    module.add[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


def cases() -> list[Case]:
    """Return the cases of Liger and of the tutorials."""
    x, w = normal(ROWS, COLUMNS), normal(COLUMNS)
    functional = torch.nn.functional
    return [
        *each_type("liger rms_norm", f"{LIGER}/rms_norm.py", {F32: (1e-4, 1e-7), BF16: (5.0, 1e-5)},
              drawn(x, w),
              lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False), rms,
              RMS_MUTANTS),
        *each_type("liger rms_norm gemma", f"{LIGER}/rms_norm.py",
              {F32: (1e-4, 1e-7), BF16: (5.0, 1e-5)}, drawn(x, w),
              lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 1.0, "gemma", False),
              lambda x, w: rms(x, w, 1.0), RMS_MUTANTS[:2]),
        *each_type("liger layer_norm", f"{LIGER}/layer_norm.py",
              {F32: (1e-5, 1e-5)}, drawn(x, w, w),
              lambda m, x, w, b: m.LigerLayerNormFunction.apply(x, w, b, 1e-6), layer,
              LAYER_MUTANTS),
        *each_type("liger softmax", f"{LIGER}/softmax.py",
              {F32: (1e-5, 1e-5), BF16: (5e-2, 5e-2)}, drawn(x),
              lambda m, x: m.LigerSoftmaxFunction.apply(x), lambda x: torch.softmax(x, -1),
              SOFTMAX_MUTANTS),
        *each_type("liger swiglu", f"{LIGER}/swiglu.py",
              {F32: (1.0, 1e-5), BF16: (1e4, 1e-2)}, drawn(x, x),
              lambda m, a, b: m.LigerSiLUMulFunction.apply(a, b),
              lambda a, b: functional.silu(a) * b, SWIGLU_MUTANTS),
        *each_type("liger geglu", f"{LIGER}/geglu.py",
              {F32: (1e-5, 1e-5), BF16: (1e-2, 1e-2)}, drawn(x, x),
              lambda m, a, b: m.LigerGELUMulFunction.apply(a, b),
              lambda a, b: functional.gelu(a, approximate="tanh") * b, GEGLU_MUTANTS),
        *each_type("liger kl_div", f"{LIGER}/kl_div.py", {F32: (1e-8, 1e-6), BF16: (1e-8, 5e-2)},
              drawn(lambda d: torch.randn(ROWS, COLUMNS).log_softmax(-1).to(d),
                    lambda _: torch.randn(ROWS, COLUMNS).softmax(-1)),
              lambda m, y, t: m.LigerKLDivLossFunction.apply(y, t, "none"),
              lambda y, t: t * (torch.log(t) - y), KL_MUTANTS),
        *each_type("liger group_norm", f"{LIGER}/group_norm.py", {F32: (1e-5, 1e-5)},
              drawn(normal(2, 6, 40), normal(6), normal(6)),
              lambda m, x, w, b: m.LigerGroupNormFunction.apply(x, w, b, 6, 2, 1e-6),
              lambda x, w, b: functional.group_norm(x, 2, w, b, 1e-6), GROUP_MUTANTS),
        *each_type("liger dyt", f"{LIGER}/dyt.py", {F32: (1e-5, 1e-5), BF16: (1e-8, 5e-2)},
              drawn(x, normal(1), w, w),
              lambda m, x, a, g, b: m.LigerDyTFunction.apply(x, a, g, b),
              lambda x, a, g, b: g * torch.tanh(a * x) + b, DYT_MUTANTS),
        *each_type("liger relu_squared", f"{LIGER}/relu_squared.py",
              {F32: (1e-5, 1e-5), BF16: (0.1, 5e-2)},
              drawn(x), lambda m, x: m.LigerReLUSquaredFunction.apply(x),
              lambda x: torch.relu(x) ** 2, RELU_MUTANTS),
        *each_type("liger fused_add_rms_norm", f"{LIGER}/fused_add_rms_norm.py",
              {F32: (1e-4, 1e-6), BF16: (0.2, 2e-2)}, drawn(x, x, w),
              lambda m, x, r, w: m.LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6)[0],
              lambda x, r, w: rms(x + r, w),
              [tuple(each.replace("X_row", "S_row") for each in mutant)
               for mutant in RMS_MUTANTS]),
        *each_type("liger poly_norm", f"{LIGER}/poly_norm.py",
              {F32: (1e-4, 1e-6), BF16: (0.2, 2e-2)},
              drawn(x, lambda d: torch.tensor([0.3, 0.4, 0.3]).to(d),
                    lambda d: torch.tensor(0.1).to(d)),
              lambda m, x, w, b: m.LigerPolyNormFunction.apply(x, w, b, 1e-6),
              lambda x, w, b: (w[0] * rms(x**3, 1) + w[1] * rms(x**2, 1) + w[2] * rms(x, 1) + b),
              POLY_MUTANTS,
              granted=GrantedRoundings(tf32=False, narrow=True)),  # it sums in bfloat16
        *each_type("tutorial vector add", OURS, {F32: (1e-8, 1e-5)},
              drawn(normal(1000), normal(1000)), ours_add, lambda x, y: x + y, ADD_MUTANTS),
        *each_type("tutorial softmax", OURS, {F32: (1e-8, 1e-5)}, drawn(x), ours_softmax,
              lambda x: torch.softmax(x, -1), TUTORIAL_SOFTMAX_MUTANTS),
        *each_type("tutorial layer norm", OURS, {F16: (1e-2, 0.0)}, drawn(x, w, w), ours_layer_norm,
              layer, TUTORIAL_LAYER_MUTANTS),
        *each_type("tutorial matmul", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(uniform(50, 200, low=-0.5), uniform(200, 40, low=-0.5)),
              lambda m, a, b: matmul(m, a, b, "ieee"), lambda a, b: a @ b, MATMUL_MUTANTS),
        *each_type("tutorial attention", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(*[lambda d: 0.5 * torch.randn(80, 32).to(d)] * 3), attention, attended,
              ATTENTION_MUTANTS),
    ]  # fmt: skip
