"""Flash Linear Attention: modules over rows, operators over batches of sequences."""

from importlib import import_module
from typing import Any

import torch

from benchmarks.invariance.batch import Batch, Results, case, cu_seqlens

WIDTH, LENGTH, HEADS, KEYS, VALUES = 300, 70, 2, 32, 32
TILES = "several rows a program, each row's sum along its own axis"
CHUNKS = "programs per sequence, head and chunk; states pass along the own chunks"
STEPS = "a program per sequence, head and columns; steps in order"


def fla_function(path: str) -> Any:
    """Return a function of a module below `fla`, loaded without importing the package."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"fla.{module}"), name)


def gradients(batch: Batch, out: torch.Tensor, **given: torch.Tensor) -> Results:
    """Return the observed row of an output, and of the gradients of inputs with rows."""
    upstream = batch.per_row(*out.shape[1:])
    grads = torch.autograd.grad(out, list(given.values()), upstream)
    return {"out": batch.observed(out)} | {
        f"gradient of {name}": batch.observed(grad) for name, grad in zip(given, grads, strict=True)
    }


@case("fla", "rows", TILES)
def layer_norm(batch: Batch) -> Results:
    x = batch.per_row(WIDTH).requires_grad_()
    function = fla_function("modules.norm.layernorm:layer_norm")
    return gradients(batch, function(x, batch.shared(WIDTH), batch.shared(WIDTH)), x=x)


@case("fla", "rows", TILES)
def rms_norm(batch: Batch) -> Results:
    x = batch.per_row(WIDTH).requires_grad_()
    return gradients(
        batch, fla_function("modules.norm.layernorm:rms_norm")(x, batch.shared(WIDTH), None), x=x
    )


@case("fla", "rows", TILES)
def rms_norm_gated(batch: Batch) -> Results:
    x, g = batch.per_row(WIDTH).requires_grad_(), batch.per_row(WIDTH).requires_grad_()
    function = fla_function("modules.norm.fused_norm_gate:rms_norm_gated")
    return gradients(batch, function(x, g, batch.shared(WIDTH), None), x=x, g=g)


@case("fla", "rows", TILES)
def l2norm(batch: Batch) -> Results:
    x = batch.per_row(64).requires_grad_()
    return gradients(batch, fla_function("modules.norm.l2norm:l2norm")(x), x=x)


@case("fla", "rows", "elementwise: no sum")
def swiglu(batch: Batch) -> Results:
    x, y = batch.per_row(WIDTH).requires_grad_(), batch.per_row(WIDTH).requires_grad_()
    return gradients(batch, fla_function("modules.activations:swiglu")(x, y), x=x, y=y)


@case("fla", "rows", "a program per row and block of the vocabulary; blocks are added by torch")
def cross_entropy_loss(batch: Batch) -> Results:
    x, target = batch.per_row(1000).requires_grad_(), batch.per_row(make=torch.randint)
    out = fla_function("modules.fused_cross_entropy.ops:cross_entropy_loss")(x, target)[0]
    return gradients(batch, out, x=x)


@case("fla", "sequences", "elementwise: no sum")
def rotary_embedding(batch: Batch) -> Results:
    x, cos, sin = batch.per_row(LENGTH, 2, 32), batch.shared(LENGTH, 16), batch.shared(LENGTH, 16)
    return {"out": batch.observed(fla_function("modules.rotary.ops:rotary_embedding")(x, cos, sin))}


@case("fla", "sequences", "elementwise: no sum")
def token_shift(batch: Batch) -> Results:
    lengths = batch.lengths(20, 1, 30)
    x = batch.packed(lengths, 64)[None]
    out = fla_function("modules.token_shift:token_shift")(x, cu_seqlens=cu_seqlens(lengths).long())
    return {"out": batch.observed(out[0], lengths)}


@case("fla", "sequences", "four taps in order, blocks of a sequence's tokens")
def causal_conv1d(batch: Batch) -> Results:
    x, weight, bias = batch.per_row(LENGTH, 64), batch.shared(64, 4), batch.shared(64)
    out = fla_function("modules.causal_conv1d.ops:causal_conv1d")(
        x, weight, bias, activation="silu"
    )
    return {"out": batch.observed(out[0] if isinstance(out, tuple) else out)}


@case("fla", "sequences", "a prefix sum per chunk of the own sequence")
def chunk_local_cumsum(batch: Batch) -> Results:
    lengths = batch.lengths(50, 1, 80)
    x = batch.packed(lengths, HEADS)[None]
    out = fla_function("ops.utils.cumsum:chunk_local_cumsum")(
        x, 32, cu_seqlens=cu_seqlens(lengths).long()
    )
    return {"out": batch.observed(out[0], lengths)}


@case("fla", "sequences", "one sum per chunk of the own sequence")
def mean_pooling(batch: Batch) -> Results:
    return {
        "out": batch.observed(
            fla_function("ops.utils.pooling:mean_pooling")(batch.per_row(LENGTH, HEADS, KEYS), 32)
        )
    }


@case("fla", "rows", "a program per row; one block as wide as the row")
def softmax(batch: Batch) -> Results:
    return {
        "out": batch.observed(fla_function("ops.utils.softmax:softmax_fwd")(batch.per_row(WIDTH)))
    }


@case("fla", "rows", "a program per row and block of columns; torch adds the blocks")
def logsumexp(batch: Batch) -> Results:
    return {
        "out": batch.observed(
            fla_function("ops.utils.logsumexp:logsumexp_fwd")(batch.per_row(WIDTH))
        )
    }


def run_operator(batch: Batch, path: str, **more: torch.Tensor) -> Results:
    """Run an operator on a batch of sequences of equal length; return its observed rows."""
    q, k = batch.per_row(LENGTH, HEADS, KEYS), batch.per_row(LENGTH, HEADS, KEYS)
    v = batch.per_row(LENGTH, HEADS, VALUES)
    out = fla_function(path)(q=q, k=k, v=v, **more)
    return {"out": batch.observed(out[0] if isinstance(out, tuple) else out)}


def decay(batch: Batch, *shape: int) -> torch.Tensor:
    """Return random logarithms of factors below 1, one per row and shape."""
    return -batch.per_row(LENGTH, HEADS, *shape).abs()


@case("fla", "sequences", CHUNKS)
def chunk_gla(batch: Batch) -> Results:
    return run_operator(batch, "ops.gla:chunk_gla", g=decay(batch, KEYS))


@case("fla", "sequences", STEPS)
def fused_recurrent_gla(batch: Batch) -> Results:
    return run_operator(batch, "ops.gla:fused_recurrent_gla", gk=decay(batch, KEYS))


@case("fla", "sequences", CHUNKS)
def chunk_simple_gla(batch: Batch) -> Results:
    return run_operator(batch, "ops.simple_gla:chunk_simple_gla", g=decay(batch))


@case("fla", "sequences", CHUNKS)
def chunk_retention(batch: Batch) -> Results:
    return run_operator(batch, "ops.retention:chunk_retention")


@case("fla", "sequences", STEPS)
def fused_recurrent_delta_rule(batch: Batch) -> Results:
    return run_operator(batch, "ops.delta_rule:fused_recurrent_delta_rule",
                        beta=batch.per_row(LENGTH, HEADS, make=torch.rand))  # fmt: skip


@case("fla", "sequences", STEPS)
def fused_recurrent_gated_delta_rule(batch: Batch) -> Results:
    path = "ops.gated_delta_rule:fused_recurrent_gated_delta_rule"
    return run_operator(batch, path, g=decay(batch),
                        beta=batch.per_row(LENGTH, HEADS, make=torch.rand))  # fmt: skip


@case("fla", "sequences", "a program per sequence, head and query block; loops over keys")
def parallel_attn(batch: Batch) -> Results:
    return run_operator(batch, "ops.attn:parallel_attn")


@case("fla", "sequences", "a program per sequence and channels; steps in order")
def fused_recurrent_hgrn(batch: Batch) -> Results:
    x, g = batch.per_row(LENGTH, KEYS), -batch.per_row(LENGTH, KEYS).abs()
    return {"out": batch.observed(fla_function("ops.hgrn:fused_recurrent_hgrn")(x, g)[0])}
