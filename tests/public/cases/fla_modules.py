"""Modules of `fla.modules`, and what operators share: forward and backward against torch."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F

from tests.public.case import Outcome, add, case
from tests.public.cases.fla_ops import _found as found

ROWS, WIDTH = 37, 300

Torchs = Callable[..., torch.Tensor]


def compare(
    path: str,
    torchs: Torchs,
    shapes: Sequence[tuple[int, ...]],
    also: dict[str, Any],
    tolerance: float,
) -> Outcome:
    """Call both on the same tensors of floats, and compare results and gradients."""
    given = [torch.randn(shape).requires_grad_() for shape in shapes]
    got, wanted = found(path)(*given, **also), torchs(*given)
    got = got[0] if isinstance(got, tuple) else got
    upstream = torch.randn_like(wanted)
    results = [
        (out, *torch.autograd.grad((out.float() * upstream).sum(), given)) for out in (got, wanted)
    ]
    return Outcome(results[0], results[1], tolerance)


def module(
    path: str, torchs: Torchs, *shapes: tuple[int, ...], tolerance: float = 5e-3, **also: Any
) -> None:
    """Register a function with its equal in torch."""
    name = path.rpartition(":")[2]
    add("fla", name, partial(compare, f"fla.{path}", torchs, shapes, also, tolerance))


FULL, LINE = (ROWS, WIDTH), (WIDTH,)


def rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def rms_gated(x: torch.Tensor, g: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return rms(x, weight) * F.silu(g)


module("modules.activations:sigmoid", torch.sigmoid, FULL)
module("modules.activations:logsigmoid", F.logsigmoid, FULL)
module("modules.activations:swish", F.silu, FULL)
module("modules.activations:swiglu", lambda x, y: F.silu(x) * y, FULL, FULL)
module("modules.activations:swiglu_linear", lambda x, y, w, b: F.linear(F.silu(x) * y, w, b),
       FULL, FULL, (64, WIDTH), (64,))  # fmt: skip
module(
    "modules.norm.layernorm:layer_norm",
    lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b),
    FULL,
    LINE,
    LINE,
)
module("modules.norm.layernorm:rms_norm", rms, FULL, LINE, bias=None)
module("modules.norm.fused_norm_gate:rms_norm_gated", rms_gated, FULL, FULL, LINE, bias=None)
module("modules.norm.l2norm:l2norm", lambda x: F.normalize(x, dim=-1), (2, ROWS, 4, 64))


@case("fla")
def cross_entropy_loss() -> Outcome:
    function = found("fla.modules.fused_cross_entropy.ops:cross_entropy_loss")
    target = torch.randint(0, 3000, (ROWS,))
    target[3] = -100
    results = []
    logits = torch.randn(ROWS, 3000)
    for loss in (
        lambda x: function(x, target)[0],
        lambda x: F.cross_entropy(x, target, reduction="none"),
    ):
        x = logits.clone().requires_grad_()
        out = loss(x)
        results.append((out, *torch.autograd.grad(out.sum(), [x])))
    return Outcome(results[0], results[1])


@case("fla")
def fused_linear_cross_entropy_loss() -> Outcome:
    path = "fla.modules.fused_linear_cross_entropy.ops:fused_linear_cross_entropy_loss"
    target = torch.randint(0, 3000, (ROWS,))
    x, weight = torch.randn(ROWS, 64), torch.randn(3000, 64)
    results = []
    for loss in (lambda x, w: found(path)(x, target, w),
                 lambda x, w: F.cross_entropy(x @ w.T, target)):  # fmt: skip
        given = [one.clone().requires_grad_() for one in (x, weight)]
        out = loss(*given)
        results.append((out, *torch.autograd.grad(out, given)))
    return Outcome(results[0], results[1])


@case("fla")
def fused_kl_div_loss() -> Outcome:
    path = "fla.modules.fused_kl_div.ops:fused_kl_div_loss"
    x, old, weight, before = (torch.randn(n, 64) for n in (ROWS, ROWS, 3000, 3000))
    results = []
    for loss in (lambda x: found(path)(x, old, weight, before),
                 lambda x: F.kl_div((x @ weight.T).log_softmax(-1), (old @ before.T).softmax(-1),
                                    reduction="batchmean")):  # fmt: skip
        given = x.clone().requires_grad_()
        out = loss(given)
        results.append((out, *torch.autograd.grad(out, [given])))
    return Outcome(results[0], results[1])


@case("fla")
def rotary_embedding() -> Outcome:
    from fla.modules.rotary.ops import rotary_embedding as function

    x, angle = torch.randn(2, ROWS, 4, 64), torch.rand(50, 32)
    one, two = x.chunk(2, -1)
    c, s = (table[:ROWS, None] for table in (angle.cos(), angle.sin()))
    wanted = torch.cat((one * c - two * s, one * s + two * c), -1)
    return Outcome((function(x, angle.cos(), angle.sin()),), (wanted,))


def shifted(starts: tuple[int, ...]) -> Outcome:
    from fla.modules.token_shift import token_shift

    x = torch.randn(1, starts[-1], WIDTH)
    packed = torch.tensor(starts) if len(starts) > 2 else None
    wanted = F.pad(x, (0, 0, 1, -1)) - x
    for begin in starts[:-1]:
        wanted[:, begin] = -x[:, begin]
    return Outcome((token_shift(x, packed),), (wanted,))


add("fla", "token_shift", partial(shifted, (0, 100)))
add("fla", "token_shift_varlen", partial(shifted, (0, 37, 100)))


def convolved(starts: tuple[int, ...]) -> Outcome:
    from fla.modules.causal_conv1d.ops import causal_conv1d

    x, weight = torch.randn(1, starts[-1], 48), torch.randn(48, 4)
    packed = torch.tensor(starts) if len(starts) > 2 else None
    got = causal_conv1d(x, weight, activation="silu", cu_seqlens=packed)
    parts = [F.silu(F.conv1d(F.pad(x[:, b:e].transpose(1, 2), (3, 0)), weight[:, None], groups=48))
             for b, e in pairwise(starts)]  # fmt: skip
    return Outcome((got[0],), (torch.cat(parts, 2).transpose(1, 2),))


add("fla", "causal_conv1d", partial(convolved, (0, 100)))
add("fla", "causal_conv1d_varlen", partial(convolved, (0, 37, 100)))


def summed(starts: tuple[int, ...]) -> Outcome:
    from fla.ops.utils.cumsum import chunk_local_cumsum

    x = torch.randn(1, starts[-1], 3, 20)
    packed = torch.tensor(starts) if len(starts) > 2 else None
    wanted = torch.cat([part.cumsum(1) for b, e in pairwise(starts)
                        for part in x[:, b:e].split(32, 1)], 1)  # fmt: skip
    return Outcome((chunk_local_cumsum(x, 32, cu_seqlens=packed),), (wanted,))


add("fla", "chunk_local_cumsum", partial(summed, (0, 100)))
add("fla", "chunk_local_cumsum_varlen", partial(summed, (0, 37, 100)))


def pooled(starts: tuple[int, ...]) -> Outcome:
    from fla.ops.utils.pooling import mean_pooling

    x = torch.randn(1, starts[-1], 3, 20)
    packed = torch.tensor(starts) if len(starts) > 2 else None
    wanted = torch.stack([part.mean(1) for b, e in pairwise(starts)
                          for part in x[:, b:e].split(32, 1)], 1)  # fmt: skip
    return Outcome((mean_pooling(x, 32, packed),), (wanted,))


add("fla", "mean_pooling", partial(pooled, (0, 100)))
add("fla", "mean_pooling_varlen", partial(pooled, (0, 37, 100)))


@case("fla")
def solve_tril_varlen() -> Outcome:
    from fla.ops.utils.solve_tril import solve_tril

    starts = (0, 37, 100)
    given = torch.randn(1, 100, 2, 64) * 0.1
    wanted = torch.zeros_like(given)
    for begin, end in pairwise(starts):
        for first in range(begin, end, 64):
            n = min(64, end - first)
            square = given[0, first : first + n, :, :n].transpose(0, 1).tril(-1)
            wanted[0, first : first + n, :, :n] = torch.linalg.inv(
                torch.eye(n) + square).transpose(0, 1)  # fmt: skip
            given[0, first : first + n, :, :n] = square.transpose(0, 1)
    return Outcome((solve_tril(given, torch.tensor(starts)),), (wanted,), 1e-2)


@case("fla")
def softmax_and_logsumexp() -> Outcome:
    from fla.ops.utils.logsumexp import logsumexp_fwd
    from fla.ops.utils.softmax import softmax_fwd

    x = torch.randn(ROWS, WIDTH)
    return Outcome((softmax_fwd(x), logsumexp_fwd(x)), (x.softmax(-1), x.logsumexp(-1)))


@case("fla")
def pack_and_unpack() -> Outcome:
    from fla.ops.utils.pack import pack_sequence, unpack_sequence

    starts = torch.tensor([0, 5, 30, ROWS])
    x = torch.randn(3, 25, 48)
    flat = torch.cat([x[row, :n] for row, n in enumerate(starts.diff().tolist())])
    packed = pack_sequence(x, starts, padding_side="right")
    wanted = torch.zeros_like(x)
    for row, n in enumerate(starts.diff().tolist()):
        wanted[row, :n] = x[row, :n]
    back = unpack_sequence(packed, starts, padding_side="right", desired_shape=x.shape)
    return Outcome((packed, back), (flat, wanted))


@case("fla")
def rwkv7_updates() -> Outcome:
    from fla.ops.rwkv7.fused_k_update import fused_k_rwkv7, k_update_ref

    k, a, share = torch.randn(1, 100, 64), torch.rand(1, 100, 64), torch.rand(1, 1, 64)
    return Outcome((fused_k_rwkv7(k, a, share),), (k_update_ref(k, a, share),))
