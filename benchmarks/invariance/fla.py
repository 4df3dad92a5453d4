"""Flash Linear Attention: modules over rows, operators over batches of sequences."""

from importlib import import_module
from typing import Any

import torch

from benchmarks.invariance.batch import Batch, Results, case, starts

WIDTH, LENGTH, HEADS, KEYS, VALUES = 300, 70, 2, 32, 32
TILES = "several rows a program, each row's sum along its own axis"
CHUNKS = "programs per sequence, head and chunk; states pass along the own chunks"
STEPS = "a program per sequence, head and columns; steps in order"


def found(path: str) -> Any:
    """Return a function by module and name, loaded from below `fla`."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"fla.{module}"), name)


def gradients(batch: Batch, out: torch.Tensor, **given: torch.Tensor) -> Results:
    """Return the observed row of an output and of the gradients of what has rows."""
    upstream = batch.each(*out.shape[1:])
    grads = torch.autograd.grad(out, list(given.values()), upstream)
    return {"out": batch.own(out)} | {
        f"gradient of {name}": batch.own(grad) for name, grad in zip(given, grads, strict=True)
    }


@case("fla", "rows", TILES)
def layer_norm(batch: Batch) -> Results:
    x = batch.each(WIDTH).requires_grad_()
    function = found("modules.norm.layernorm:layer_norm")
    return gradients(batch, function(x, batch.shared(WIDTH), batch.shared(WIDTH)), x=x)


@case("fla", "rows", TILES)
def rms_norm(batch: Batch) -> Results:
    x = batch.each(WIDTH).requires_grad_()
    return gradients(
        batch, found("modules.norm.layernorm:rms_norm")(x, batch.shared(WIDTH), None), x=x
    )


@case("fla", "rows", TILES)
def rms_norm_gated(batch: Batch) -> Results:
    x, g = batch.each(WIDTH).requires_grad_(), batch.each(WIDTH).requires_grad_()
    function = found("modules.norm.fused_norm_gate:rms_norm_gated")
    return gradients(batch, function(x, g, batch.shared(WIDTH), None), x=x, g=g)


@case("fla", "rows", TILES)
def l2norm(batch: Batch) -> Results:
    x = batch.each(64).requires_grad_()
    return gradients(batch, found("modules.norm.l2norm:l2norm")(x), x=x)


@case("fla", "rows", "elementwise: no sum")
def swiglu(batch: Batch) -> Results:
    x, y = batch.each(WIDTH).requires_grad_(), batch.each(WIDTH).requires_grad_()
    return gradients(batch, found("modules.activations:swiglu")(x, y), x=x, y=y)


@case("fla", "rows", "a program per row and block of the vocabulary; blocks are added by torch")
def cross_entropy_loss(batch: Batch) -> Results:
    x, target = batch.each(1000).requires_grad_(), batch.each(make=torch.randint)
    out = found("modules.fused_cross_entropy.ops:cross_entropy_loss")(x, target)[0]
    return gradients(batch, out, x=x)


@case("fla", "sequences", "elementwise: no sum")
def rotary_embedding(batch: Batch) -> Results:
    x, cos, sin = batch.each(LENGTH, 2, 32), batch.shared(LENGTH, 16), batch.shared(LENGTH, 16)
    return {"out": batch.own(found("modules.rotary.ops:rotary_embedding")(x, cos, sin))}


@case("fla", "sequences", "elementwise: no sum")
def token_shift(batch: Batch) -> Results:
    lengths = batch.lengths(20, 1, 30)
    x = batch.packed(lengths, 64)[None]
    out = found("modules.token_shift:token_shift")(x, cu_seqlens=starts(lengths).long())
    return {"out": batch.own(out[0], lengths)}


@case("fla", "sequences", "four taps in order, blocks of a sequence's tokens")
def causal_conv1d(batch: Batch) -> Results:
    x, weight, bias = batch.each(LENGTH, 64), batch.shared(64, 4), batch.shared(64)
    out = found("modules.causal_conv1d.ops:causal_conv1d")(x, weight, bias, activation="silu")
    return {"out": batch.own(out[0] if isinstance(out, tuple) else out)}


@case("fla", "sequences", "a prefix sum per chunk of the own sequence")
def chunk_local_cumsum(batch: Batch) -> Results:
    lengths = batch.lengths(50, 1, 80)
    x = batch.packed(lengths, HEADS)[None]
    out = found("ops.utils.cumsum:chunk_local_cumsum")(x, 32, cu_seqlens=starts(lengths).long())
    return {"out": batch.own(out[0], lengths)}


@case("fla", "sequences", "one sum per chunk of the own sequence")
def mean_pooling(batch: Batch) -> Results:
    return {
        "out": batch.own(
            found("ops.utils.pooling:mean_pooling")(batch.each(LENGTH, HEADS, KEYS), 32)
        )
    }


@case("fla", "rows", "a program per row; one block as wide as the row")
def softmax(batch: Batch) -> Results:
    return {"out": batch.own(found("ops.utils.softmax:softmax_fwd")(batch.each(WIDTH)))}


@case("fla", "rows", "a program per row and block of columns; torch adds the blocks")
def logsumexp(batch: Batch) -> Results:
    return {"out": batch.own(found("ops.utils.logsumexp:logsumexp_fwd")(batch.each(WIDTH)))}


def mixed(batch: Batch, path: str, **more: torch.Tensor) -> Results:
    """Run an operator over a batch of sequences of one length."""
    q, k = batch.each(LENGTH, HEADS, KEYS), batch.each(LENGTH, HEADS, KEYS)
    v = batch.each(LENGTH, HEADS, VALUES)
    out = found(path)(q=q, k=k, v=v, **more)
    return {"out": batch.own(out[0] if isinstance(out, tuple) else out)}


def decay(batch: Batch, *shape: int) -> torch.Tensor:
    """Return logarithms of factors below one."""
    return -batch.each(LENGTH, HEADS, *shape).abs()


@case("fla", "sequences", CHUNKS)
def chunk_gla(batch: Batch) -> Results:
    return mixed(batch, "ops.gla:chunk_gla", g=decay(batch, KEYS))


@case("fla", "sequences", STEPS)
def fused_recurrent_gla(batch: Batch) -> Results:
    return mixed(batch, "ops.gla:fused_recurrent_gla", gk=decay(batch, KEYS))


@case("fla", "sequences", CHUNKS)
def chunk_simple_gla(batch: Batch) -> Results:
    return mixed(batch, "ops.simple_gla:chunk_simple_gla", g=decay(batch))


@case("fla", "sequences", CHUNKS)
def chunk_retention(batch: Batch) -> Results:
    return mixed(batch, "ops.retention:chunk_retention")


@case("fla", "sequences", STEPS)
def fused_recurrent_delta_rule(batch: Batch) -> Results:
    return mixed(batch, "ops.delta_rule:fused_recurrent_delta_rule",
                 beta=batch.each(LENGTH, HEADS, make=torch.rand))  # fmt: skip


@case("fla", "sequences", STEPS)
def fused_recurrent_gated_delta_rule(batch: Batch) -> Results:
    return mixed(batch, "ops.gated_delta_rule:fused_recurrent_gated_delta_rule", g=decay(batch),
                 beta=batch.each(LENGTH, HEADS, make=torch.rand))  # fmt: skip


@case("fla", "sequences", "a program per sequence, head and query block; loops over keys")
def parallel_attn(batch: Batch) -> Results:
    return mixed(batch, "ops.attn:parallel_attn")


@case("fla", "sequences", "a program per sequence and channels; steps in order")
def fused_recurrent_hgrn(batch: Batch) -> Results:
    x, g = batch.each(LENGTH, KEYS), -batch.each(LENGTH, KEYS).abs()
    return {"out": batch.own(found("ops.hgrn:fused_recurrent_hgrn")(x, g)[0])}
