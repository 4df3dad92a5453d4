import math
import time

import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import trace
from tests.addons.graphs.hlo import programs, xla
from tests.addons.graphs.hlo.agreement import agree, assert_close

RANDOM = np.random.default_rng(23)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def check(program, arguments, expected):
    """Compare a graph by NumPy and by XLA with what was computed by hand; returns the graph."""
    graph = trace(program).specialize(*arguments)
    arrays = list(flat(arguments))
    text = graph.to_stablehlo()
    assert "loc(unknown)" not in xla.verified(text)  # every op has the user's place
    for results in (graph.evaluate(*arrays), xla.run(text, *arrays)):
        assert len(results) == len(expected) == len(graph.outputs)
        for spec, actual, reference in zip(graph.outputs, results, expected, strict=True):
            assert_close(actual, reference, spec.name, (2e-4, 2e-4))
    return graph


def flat(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from flat(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from flat(item)


def test_a_transformer_block_updates_its_cache_in_place():
    weights = programs.transformer_weights(RANDOM)
    x, keys, values = floats(3, 32), floats(10, 32), floats(10, 32)
    start, heads = 4, 4

    def rms(x, weight):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight

    k_all, v_all = keys.copy(), values.copy()
    q, k, v = np.split(rms(x, weights["norm1"]) @ weights["qkv"], 3, -1)
    k_all[start : start + 3], v_all[start : start + 3] = k, v
    mixed = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * 8, head * 8 + 8)
        for token in range(3):
            length_so_far = start + token + 1
            scores = q[token, part] @ k_all[:length_so_far, part].T / math.sqrt(8)
            mixed[token, part] = softmax(scores) @ v_all[:length_so_far, part]
    y = x + mixed @ weights["out"]
    normal = rms(y, weights["norm2"])
    gate = normal @ weights["gate"]
    hidden = gate / (1 + np.exp(-gate)) * (normal @ weights["up"])
    expected = [y + hidden @ weights["down"], k_all, v_all]

    arguments = (x, weights, keys, values, np.array(start, np.int32))
    graph = check(programs.transformer_block, arguments, expected)

    assert [output.name for output in graph.outputs] == ["output", "keys", "values"]
    assert graph.aliases == {"keys": "keys", "values": "values"}
    names = [spec.name for spec in graph.inputs]
    aliases = xla.aliases(graph.to_stablehlo())
    assert aliases == {1: names.index("keys"), 2: names.index("values")}
    cached = keys.copy()
    trace(programs.transformer_block)(x, weights, cached, values.copy(), arguments[-1])
    np.testing.assert_allclose(cached, k_all, rtol=1e-4, atol=1e-4)


def test_a_hundred_layers_are_traced_in_less_than_a_second():
    layers = [programs.transformer_weights(RANDOM)] * 100
    caches = [(floats(10, 32), floats(10, 32)) for _ in layers]

    def forward(x, layers, caches, start):
        for weights, (keys, values) in zip(layers, caches, strict=True):
            x = programs.transformer_block(x, weights, keys, values, start)
        return x

    begin = time.process_time()
    graph = trace(forward).specialize(floats(3, 32), layers, caches, np.array(4, np.int32))

    assert time.process_time() - begin < 1
    assert len(graph.ops) > 5000
    assert len(graph.aliases) == 200


def convolved(x, kernel, stride, padding):
    """By windows, in NumPy alone."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], kernel)


def test_a_stage_of_a_residual_network_equals_numpy():
    blocks = programs.resnet_weights(RANDOM)
    x = floats(2, 3, 8, 8)

    y = x
    for number, weights in enumerate(blocks):
        stride = 2 if number == 0 else 1
        z = convolved(y, weights["conv1"], stride, 1)
        z = np.maximum(programs.batch_norm(z, weights["scale1"], weights["shift1"]), 0)
        z = convolved(z, weights["conv2"], 1, 1)
        z = programs.batch_norm(z, weights["scale2"], weights["shift2"])
        short = convolved(y, weights["short"], stride, 0) if "short" in weights else y
        y = np.maximum(short + z, 0)

    graph = check(programs.resnet_stage, (x, blocks), [y.mean((2, 3)), y])
    assert sum(op.opcode == "convolution" for op in graph.ops) == 5
    assert {i.name for i in graph.inputs} >= {"x", "blocks.0.conv1", "blocks.1.shift2"}


@pytest.mark.parametrize("capacity", [3, 12])
def test_a_mixture_of_experts_by_gather_and_scatter_equals_numpy(capacity):
    tokens, width, experts, hidden = 12, 8, 4, 16
    x, router = floats(tokens, width), floats(width, experts)
    up, down = floats(experts, width, hidden), floats(experts, hidden, width)

    expected = np.zeros_like(x)
    room = [0] * experts
    places = []
    shares = softmax(x @ router)
    for token in range(tokens):
        best = np.argsort(-shares[token], kind="stable")[:2]
        total = shares[token, best].sum()
        for expert in best:
            places.append(room[expert])
            room[expert] += 1
            if places[-1] < capacity:
                value = np.maximum(x[token] @ up[expert], 0) @ down[expert]
                expected[token] += shares[token, expert] / total * value

    arguments = (x, router, up, down, 2, capacity)
    graph = check(programs.mixture_of_experts, arguments, [expected, np.array(places)])
    assert {"gather", "scatter", "sort", "reduce_window"} <= {op.opcode for op in graph.ops}


def test_a_step_of_adam_updates_parameters_in_place():
    state = floats(5, 3), floats(5, 3) * 0.1, np.abs(floats(5, 3)) * 0.1, np.array(3, np.int32)

    graph = agree(programs.adam_step, *state, floats(5, 3))

    assert [o.name for o in graph.outputs] == ["weights", "first", "second", "step"]
    assert graph.aliases == {name: name for name in ("weights", "first", "second", "step")}
    assert xla.aliases(graph.to_stablehlo()) == {0: 0, 1: 1, 2: 2, 3: 3}
    assert graph.structure is None


def test_a_function_of_ops_is_imported_by_its_name_and_takes_a_list_of_axes():
    from kvtrace.addons.graphs.hlo.ops import softmax

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    powers = np.exp(x - x.max(axis=(1, 2), keepdims=True))

    expected = powers / powers.sum(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(softmax(x, [1, 2]), expected, rtol=1e-5)
