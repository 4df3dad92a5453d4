"""Whole programs in NumPy, with what NumPy lacks taken from `ops`."""

import math
from itertools import pairwise

import numpy as np

from kvtrace.addons.graphs.hlo import mutable_tensor, ops

# -- a transformer block with a cache of keys and values that is written in place ------------------


def transformer_block(
    x, weights, keys: mutable_tensor, values: mutable_tensor, start, heads: int = 4
):
    """Tokens [N, D] at position `start` of the sequence whose cache is [L, D]."""
    tokens, width = x.shape
    length, size = keys.shape[0], width // heads
    normal = ops.rms_norm(x, weights["norm1"])
    q, k, v = np.split(normal @ weights["qkv"], 3, axis=-1)
    keys[:] = ops.dynamic_update_slice(keys, k, (start, 0))
    values[:] = ops.dynamic_update_slice(values, v, (start, 0))

    def by_head(t):
        return t.reshape(t.shape[0], heads, size).transpose(1, 0, 2)

    scores = by_head(q) @ by_head(keys).swapaxes(-1, -2) / math.sqrt(size)
    is_visible = np.arange(length)[None, :] <= (start + np.arange(tokens)[:, None])
    weights_of = ops.softmax(np.where(is_visible, scores, -np.inf), axis=-1)
    mixed = (weights_of @ by_head(values)).transpose(1, 0, 2).reshape(tokens, width)
    x = x + mixed @ weights["out"]
    normal = ops.rms_norm(x, weights["norm2"])
    hidden = ops.silu(normal @ weights["gate"]) * (normal @ weights["up"])
    return x + hidden @ weights["down"]


def transformer_weights(random, width=32, hidden=48):
    shapes = {
        "norm1": (width,),
        "qkv": (width, 3 * width),
        "out": (width, width),
        "norm2": (width,),
        "gate": (width, hidden),
        "up": (width, hidden),
        "down": (hidden, width),
    }
    return {
        name: (random.normal(size=shape) / math.sqrt(shape[0])).astype(np.float32)
        for name, shape in shapes.items()
    }


# -- a stage of a residual network -----------------------------------------------------------------


def batch_norm(x, scale, shift):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    spread = x.var(axis=(0, 2, 3), keepdims=True)
    normal = (x - mean) / np.sqrt(spread + 1e-5)
    return normal * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)


def residual_block(x, weights, stride: int):
    y = ops.conv2d(x, weights["conv1"], stride=stride, padding=1)
    y = np.maximum(batch_norm(y, weights["scale1"], weights["shift1"]), 0)
    y = ops.conv2d(y, weights["conv2"], padding=1)
    y = batch_norm(y, weights["scale2"], weights["shift2"])
    if "short" in weights:
        x = ops.conv2d(x, weights["short"], stride=stride)
    return np.maximum(x + y, 0)


def resnet_stage(x, blocks):
    for number, weights in enumerate(blocks):
        x = residual_block(x, weights, stride=2 if number == 0 else 1)
    pooled = x.mean(axis=(2, 3))
    return pooled, x


def resnet_weights(random, channels=(3, 8, 8)):
    blocks = []
    for before, after in pairwise(channels):
        shapes = {
            "conv1": (after, before, 3, 3),
            "scale1": (after,),
            "shift1": (after,),
            "conv2": (after, after, 3, 3),
            "scale2": (after,),
            "shift2": (after,),
        }
        if before != after:
            shapes["short"] = (after, before, 1, 1)
        blocks.append(
            {
                name: (random.normal(size=shape) / math.sqrt(max(shape[1:], default=1) * 9)).astype(
                    np.float32
                )
                for name, shape in shapes.items()
            }
        )
    return blocks


# -- a mixture of experts --------------------------------------------------------------------------


def mixture_of_experts(x, router, up, down, chosen: int = 2, capacity: int = 8):
    """Each token goes to its best experts, as long as these have room, and back, weighted."""
    tokens, width = x.shape
    experts = router.shape[1]
    shares, best = ops.topk(ops.softmax(x @ router), chosen, axis=-1)
    shares = shares / shares.sum(axis=-1, keepdims=True)
    best = best.astype(np.int32).reshape(-1)
    belongs = (best[:, None] == np.arange(experts)).astype(np.int32)
    place = (np.cumsum(belongs, axis=0) * belongs).sum(axis=1) - 1
    fits = place < capacity
    slot = np.where(fits, best * capacity + place, experts * capacity)  # beyond the last: dropped
    source = np.repeat(np.arange(tokens), chosen)
    rows = ops.zeros((experts * capacity, width), np.float32)
    rows = ops.scatter(rows, slot, x[source], "add").reshape(experts, capacity, width)
    hidden = np.maximum(np.einsum("ecw,ewh->ech", rows, up), 0)
    outputs = np.einsum("ech,ehw->ecw", hidden, down).reshape(experts * capacity, width)
    expert_outputs = outputs[np.minimum(slot, experts * capacity - 1)]
    weighted = np.where(fits[:, None], expert_outputs, 0.0) * shares.reshape(-1, 1)
    result = np.zeros_like(x)
    np.add.at(result, source, weighted)
    return result, place


# -- a step of Adam, in place ----------------------------------------------------------------------


def adam_step(
    weights: mutable_tensor,
    first: mutable_tensor,
    second: mutable_tensor,
    step: mutable_tensor,
    gradient,
    rate: float = 1e-2,
):
    step += 1
    first[:] = 0.9 * first + 0.1 * gradient
    second *= 0.999
    second += 0.001 * gradient**2
    count = step.astype(np.float32)
    unbiased = first / (1 - 0.9**count)
    spread = second / (1 - 0.999**count)
    weights -= rate * unbiased / (np.sqrt(spread) + 1e-8)
