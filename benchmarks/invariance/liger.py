"""Liger-Kernel: norms, losses and activations, with the gradients of rows."""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.invariance.batch import Batch, Results, case

WIDTH, VOCABULARY = 300, 1000
ROWWISE = "a program per row; one sum over a block as wide as the row"
ELEMENTWISE = "elementwise: no sum"
BACKWARD = "rows in a program's share by their number, but each row's sums are its own"


def run_both_ways(
    batch: Batch, function: Callable[..., Any], *given: torch.Tensor, moves: int = 1
) -> Results:
    """Run forward and backward.

    The first `moves` inputs have rows, and their gradients are returned.
    """
    leaves = [x.requires_grad_() for x in given[:moves]]
    out = function(*leaves, *given[moves:])
    out = out[0] if isinstance(out, tuple) else out
    upstream = batch.per_row(*out.shape[1:])
    gradients = torch.autograd.grad(out, leaves, upstream)
    return {"out": batch.observed(out)} | {
        f"gradient {i}": batch.observed(g) for i, g in enumerate(gradients)
    }


@case("liger", "rows", f"{ROWWISE}; {BACKWARD}")
def rms_norm(batch: Batch) -> Results:
    from liger_kernel.ops import LigerRMSNormFunction as Function

    return run_both_ways(
        batch, lambda x, w: Function.apply(x, w, 1e-6), batch.per_row(WIDTH), batch.shared(WIDTH)
    )


@case("liger", "rows", "from 32768 rows 16 a program: same sums by TTIR, other layouts in TTGIR",
      sizes=((1, 0), (9, 5), (32_768, 20_001)))  # fmt: skip
def rms_norm_blocks(batch: Batch) -> Results:
    from liger_kernel.ops.rms_norm import rms_norm_forward

    out = rms_norm_forward(batch.per_row(48), batch.shared(48), 1e-6, 0.0, "llama", None)
    return {"y": batch.observed(out[0]), "rstd": batch.observed(out[2])}


@case("liger", "rows", f"{ROWWISE}; {BACKWARD}")
def layer_norm(batch: Batch) -> Results:
    from liger_kernel.ops import LigerLayerNormFunction as Function

    given = (batch.per_row(WIDTH), batch.shared(WIDTH), batch.shared(WIDTH))
    return run_both_ways(batch, lambda x, w, b: Function.apply(x, w, b, 1e-5), *given)


@case("liger", "rows", f"{ROWWISE}; {BACKWARD}")
def fused_add_rms_norm(batch: Batch) -> Results:
    from liger_kernel.ops import LigerFusedAddRMSNormFunction as Function

    given = (batch.per_row(WIDTH), batch.per_row(WIDTH), batch.shared(WIDTH))
    return run_both_ways(batch, lambda x, r, w: Function.apply(x, r, w, 1e-6), *given, moves=2)


@case("liger", "rows", f"{ROWWISE}; {BACKWARD}")
def poly_norm(batch: Batch) -> Results:
    from liger_kernel.ops import LigerPolyNormFunction as Function

    bias = torch.tensor(0.3)
    return run_both_ways(
        batch, lambda x, w: Function.apply(x, w, bias, 1e-6), batch.per_row(WIDTH), batch.shared(3)
    )


@case("liger", "samples", "a program per sample and group, loops over its elements by a constant")
def group_norm(batch: Batch) -> Results:
    from liger_kernel.ops import LigerGroupNormFunction as Function

    given = (batch.per_row(12, 50), batch.shared(12), batch.shared(12))
    return run_both_ways(batch, lambda x, w, b: Function.apply(x, w, b, 12, 4, 1e-6), *given)


@case("liger", "rows", ELEMENTWISE)
def dyt(batch: Batch) -> Results:
    from liger_kernel.ops import LigerDyTFunction as Function

    given = (batch.per_row(WIDTH), torch.tensor([0.7]), batch.shared(WIDTH), batch.shared(WIDTH))
    return run_both_ways(batch, Function.apply, *given)


@case("liger", "rows", ELEMENTWISE)
def swiglu(batch: Batch) -> Results:
    from liger_kernel.ops import LigerSiLUMulFunction as Function

    return run_both_ways(batch, Function.apply, batch.per_row(WIDTH), batch.per_row(WIDTH), moves=2)


@case("liger", "rows", ELEMENTWISE)
def geglu(batch: Batch) -> Results:
    from liger_kernel.ops import LigerGELUMulFunction as Function

    return run_both_ways(batch, Function.apply, batch.per_row(WIDTH), batch.per_row(WIDTH), moves=2)


@case("liger", "rows", ELEMENTWISE)
def relu_squared(batch: Batch) -> Results:
    from liger_kernel.ops import LigerReLUSquaredFunction as Function

    return run_both_ways(batch, Function.apply, batch.per_row(WIDTH))


@case("liger", "rows", ROWWISE)
def softmax(batch: Batch) -> Results:
    from liger_kernel.ops import LigerSoftmaxFunction as Function

    return run_both_ways(batch, Function.apply, batch.per_row(VOCABULARY))


@case("liger", "rows", "a program per row; prefix sums of the sorted row")
def sparsemax(batch: Batch) -> Results:
    from liger_kernel.ops import LigerSparsemaxFunction as Function

    return run_both_ways(batch, lambda x: Function.apply(x, -1), batch.per_row(VOCABULARY))


def loss(batch: Batch, reduction: str) -> Results:
    from liger_kernel.ops.cross_entropy import cross_entropy_forward

    target = batch.per_row(make=torch.randint)
    out = cross_entropy_forward(
        batch.per_row(VOCABULARY).requires_grad_(),
        target,
        None,
        -100,
        0.0,
        0.1,
        reduction,
        None,
        False,
    )
    gradient = next(x for x in out if x is not None and x.shape == (batch.rows, VOCABULARY))
    found = {"gradient": batch.observed(gradient)}
    return found | ({"loss": batch.observed(out[0])} if reduction == "none" else {})


@case("liger", "rows", "a program per row, loops over the vocabulary by a constant")
def cross_entropy(batch: Batch) -> Results:
    return loss(batch, "none")


@case("liger", "rows", "each gradient is divided by the number of rows that are not ignored",
      invariant=False)  # fmt: skip
def cross_entropy_mean(batch: Batch) -> Results:
    return loss(batch, "mean")


@case("liger", "rows", "a program per row, loops over columns by a constant")
def kl_div(batch: Batch) -> Results:
    from liger_kernel.ops.kl_div import kldiv_forward_triton

    out = kldiv_forward_triton(-batch.per_row(WIDTH).abs(), batch.per_row(WIDTH, make=torch.rand),
                               False, "none", 1e-10)  # fmt: skip
    return {"loss": batch.observed(out)}


@case("liger", "rows", "a program per row; the reduction none keeps elements")
def tvd(batch: Batch) -> Results:
    from liger_kernel.ops.tvd import tv_distance_forward_triton

    p, q = batch.per_row(WIDTH, make=torch.rand), batch.per_row(WIDTH, make=torch.rand)
    out, gradient = tv_distance_forward_triton(p, q, None, "none", -100, False)
    return {"loss": batch.observed(out), "gradient": batch.observed(gradient)}


@case("liger", "sequences", ELEMENTWISE)
def rope(batch: Batch) -> Results:
    from liger_kernel.ops.rope import rope_forward

    cos, sin = batch.per_row(9, 32), batch.per_row(9, 32)
    q, k, *_ = rope_forward(batch.per_row(4, 9, 32), batch.per_row(2, 9, 32), cos, sin)
    return {"q": batch.observed(q), "k": batch.observed(k)}


@case("liger", "tokens", "a program per token: softmax and sum over the depth, in order")
def attn_res(batch: Batch) -> Results:
    from liger_kernel.ops import LigerAttnResFunction as Function

    blocks = batch.per_row(4, 40).transpose(0, 1).unsqueeze(1).contiguous()
    out = Function.apply(blocks, batch.shared(40), batch.shared(40), 1e-6)
    return {"out": batch.observed(out[0])}
