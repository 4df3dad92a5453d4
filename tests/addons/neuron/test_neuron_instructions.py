"""Instructions with registers, states and stages, each against NumPy."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import COLUMN, RANDOM, X, Y, run_into, run_op

COMMANDS = nisa.reduce_cmd


# -- stages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op0", "op1", "reverse", "expected"),
    [
        (nl.multiply, nl.add, False, X * 2 + COLUMN),
        (nl.multiply, nl.subtract, True, COLUMN - X * 2),
        (nl.subtract, nl.bypass, False, X - 2),
        (nl.bypass, nl.bypass, False, X),
    ],
)
def test_activate2_applies_two_stages_before_the_activation(
    run_newer: Run, op0: Any, op1: Any, reverse: bool, expected: Any
) -> None:
    def op(dst: Any, x: Any, c: Any) -> None:
        two = nl.full((32, 1), 2.0, nl.float32)
        nisa.activate2(dst, nl.tanh, x, two, c, op0, op1, reverse1=reverse)

    def on_trn3(*arguments: Any, **settings: Any) -> Any:
        return run_newer(*arguments, target="trn3", **settings)

    result = run_into(on_trn3, op, X.shape, nl.float32, X, COLUMN)
    assert np.allclose(result, np.tanh(expected), rtol=1e-5, atol=1e-6)


def test_prelu_has_a_slope_below_zero(run_newer: Run) -> None:
    def op(dst: Any, x: Any, c: Any) -> None:
        nisa.activation(dst[:, 0:24], nl.prelu, x, relu_param=0.25)
        nisa.activation(dst[:, 24:48], nl.prelu, x, relu_param=c)

    result = run_into(run_newer, op, (32, 48), nl.float32, X, COLUMN)

    expected = [np.where(X > 0, X, slope * X) for slope in (np.float32(0.25), COLUMN)]
    assert np.allclose(result, np.concatenate(expected, axis=1))


def test_activations_are_reduced_by_other_operations(run_newer: Run) -> None:
    def kernel(x: Any, y: Any) -> Any:
        tile = nl.ndarray((32, 24), nl.float32, buffer=nl.sbuf)
        tops = nl.ndarray((32, 2), nl.float32, buffer=nl.sbuf)
        none = (nl.bypass, nl.bypass)
        for index, source, command in ((0, x, "reset_reduce"), (1, y, "reduce")):
            nisa.activate2(
                tile, nl.square, nl.load(source), 0.0, 0.0, *none, reduce_op=nl.maximum,
                reduce_res=tops[:, index : index + 1], reduce_cmd=COMMANDS[command],
            )  # fmt: skip
        out = nl.ndarray((32, 2), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tops)
        return out

    outcome = run_newer(kernel, X, Y, target="trn3")

    first, second = (X * X).max(axis=1), (Y * Y).max(axis=1)
    assert np.allclose(outcome.result, np.stack([first, np.maximum(first, second)], axis=1))
    assert outcome.recorder.findings == []


@pytest.mark.parametrize("name", ["abs", "rsqrt", "reciprocal"])
def test_stages_of_instructions_accept_unary_ops(run_newer: Run, run_older: Run, name: str) -> None:
    source = X if name == "abs" else np.abs(X) + 1
    references = {"abs": np.abs, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x}
    expected = references[name](source) * 3

    def op(dst: Any, x: Any) -> None:
        nisa.tensor_scalar(dst, x, getattr(nl, name), 0.0, op1=nl.multiply, operand1=3.0)

    assert np.allclose(run_into(run_newer, op, X.shape, nl.float32, source), expected, rtol=1e-6)
    result = run_op(
        run_older,
        lambda x: older_isa.scalar_tensor_tensor(
            data=x, op0=getattr(older_nl, name), operand0=0.0, op1=np.add, operand1=x
        ),
        source,
    )
    assert np.allclose(result, expected / 3 + source, rtol=1e-6, atol=1e-6)


# -- registers of the vector engine --------------------------------------------------------------


def test_reductions_continue_from_the_registers(run_newer: Run) -> None:
    def kernel(x: Any, y: Any) -> Any:
        tile = nl.ndarray((32, 24), nl.float32, buffer=nl.sbuf)
        sums = nl.ndarray((32, 4), nl.float32, buffer=nl.sbuf)
        first, second = nl.load(x), nl.load(y)
        calls = (
            (first, COMMANDS.reset_reduce, None),
            (second, COMMANDS.reduce, None),
            (first, COMMANDS.load_reduce, 5.0),
            (second, COMMANDS.load_reduce, second[:, 0:1]),
        )
        for index, (source, command, start) in enumerate(calls):
            nisa.tensor_scalar_reduce(
                dst=tile, data=source, op0=nl.multiply, operand0=2.0, reduce_op=nl.add,
                reduce_res=sums[:, index : index + 1], reduce_cmd=command, reduce_init=start,
            )  # fmt: skip
        out = nl.ndarray((32, 4), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, sums)
        return out

    outcome = run_newer(kernel, X, Y)

    one, other = 2 * X.sum(axis=1), 2 * Y.sum(axis=1)
    expected = np.stack([one, one + other, one + 5, other + Y[:, 0]], axis=1)
    assert np.allclose(outcome.result, expected, rtol=1e-4, atol=1e-4)
    assert outcome.recorder.findings == []


def test_a_maximum_continues_across_instructions(run_newer: Run) -> None:
    def kernel(x: Any, y: Any) -> Any:
        tile = nl.ndarray((32, 24), nl.float32, buffer=nl.sbuf)
        top = nl.ndarray((32, 1), nl.float32, buffer=nl.sbuf)
        every = nl.full((32, 24), 1, nl.uint8)
        nisa.select_reduce(tile, every, nl.load(x), 0.0, reduce_cmd=COMMANDS.reset_reduce)
        nisa.range_select(
            tile,
            nl.load(y),
            nl.greater_equal,
            nl.less,
            nl.zeros((32, 1), nl.float32),
            nl.full((32, 1), 24.0, nl.float32),
            reduce_cmd=COMMANDS.reduce,
            reduce_res=top,
        )
        out = nl.ndarray((32, 1), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, top)
        return out  # fmt: skip

    outcome = run_newer(kernel, X, Y)

    assert np.array_equal(outcome.result[:, 0], np.maximum(X, Y).max(axis=1))
    assert outcome.recorder.findings == []


# -- searches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("count", [8, 20])
def test_topk_finds_the_largest_of_each_group_of_partitions(
    run_newer: Run, count: int, falling: bool
) -> None:
    size, columns = 300, 20
    rows = np.stack([RANDOM.permutation(320)[:320] for _ in range(2)]).astype(np.float32) / 2
    snakes = rows.reshape(2, columns, 16).transpose(0, 2, 1).reshape(32, columns)

    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        values = nl.zeros((32, count), nl.bfloat16)
        indices = nl.zeros((32, count), nl.uint32)
        nisa.topk(values, indices, tile, size, sorted=falling)
        out = nl.ndarray((32, count), nl.float32, buffer=nl.shared_hbm)
        indices_out = nl.ndarray((32, count), nl.uint32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, values)
        nisa.dma_copy(indices_out, indices)
        return out, indices_out

    outcome = run_newer(kernel, snakes.astype(ml_dtypes.bfloat16))

    values, indices = (
        tile.reshape(2, 16, count).transpose(0, 2, 1).reshape(2, -1)[:, :count]
        for tile in outcome.result
    )
    loaded = rows.astype(ml_dtypes.bfloat16).astype(np.float32)[:, :size]
    expected = np.sort(loaded, axis=1)[:, -count:]
    assert np.array_equal(values, expected[:, ::-1] if falling else expected)
    assert np.array_equal(np.take_along_axis(loaded, indices.astype(np.int64), axis=1), values)
    assert outcome.recorder.findings == []


def test_sequence_bounds_are_starts_and_ends_of_runs(run_older: Run, run_newer: Run) -> None:
    segments = np.array([[0, 1, 1, 2, 2, 2, 0, 3, 3]], np.int32)
    expected = [[[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]]

    result = run_op(run_older, lambda x: older_isa.sequence_bounds(segment_ids=x), segments)
    into = run_into(run_newer, nisa.sequence_bounds, (1, 2, 9), nl.int32, segments)

    assert result.tolist() == into.tolist() == expected


# -- random numbers ------------------------------------------------------------------------------


def _xorwow(words: list[int], count: int) -> list[int]:
    """Marsaglia's generator, word by word."""
    x, y, z, w, v, d = words
    drawn = []
    for _ in range(count):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = (v ^ (v << 4) ^ t ^ (t << 1)) & 0xFFFFFFFF
        d = (d + 362437) & 0xFFFFFFFF
        drawn.append((d + v) & 0xFFFFFFFF)
    return drawn


def test_random_bits_are_those_of_the_generator(run_newer: Run) -> None:
    gpsimd = nisa.gpsimd_engine
    seeds = RANDOM.integers(1, 2**32, (32, 6), np.uint32)

    def kernel(x: Any) -> Any:
        tile = nl.ndarray((32, 10), nl.uint32, buffer=nl.sbuf)
        state = nl.ndarray((32, 6), nl.uint32, buffer=nl.sbuf)
        out = nl.ndarray((3, 32, 10), nl.uint32, buffer=nl.shared_hbm)
        nisa.rand_set_state(nl.load(x), gpsimd)
        nisa.rng(tile, gpsimd)
        nisa.dma_copy(out[0], tile)
        nisa.rand_get_state(state, gpsimd)
        nisa.rng(tile, gpsimd)
        nisa.dma_copy(out[1], tile)
        nisa.rand_set_state(state, gpsimd)
        nisa.rng(tile, gpsimd)
        nisa.dma_copy(out[2], tile)
        return out

    outcome = run_newer(kernel, seeds)

    expected = np.array([_xorwow([int(word) for word in row], 20) for row in seeds])
    assert np.array_equal(outcome.result[0], expected[:, :10])
    assert np.array_equal(outcome.result[1], expected[:, 10:])
    assert np.array_equal(outcome.result[2], outcome.result[1])
    assert outcome.recorder.findings == []


def test_random_numbers_follow_their_seed_and_lie_between_bounds(run_newer: Run) -> None:
    def kernel(seed: Any) -> Any:
        out = nl.ndarray((3, 128, 64), nl.float32, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
        low = nl.full((128, 1), -2.0, nl.float32)
        for index in range(3):
            if index != 1:
                nisa.set_rng_seed(nl.load(seed))
            nisa.rand2(tile, low, 3.0)
            nisa.dma_copy(out[index], tile)
        return out

    outcome = run_newer(kernel, np.array([[7]], np.uint32), target="trn3")

    first, second, again = outcome.result
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert (first.min(), first.max()) == (pytest.approx(-2, abs=0.01), pytest.approx(3, abs=0.01))
    assert first.mean() == pytest.approx(0.5, abs=0.1)
    assert outcome.recorder.findings == []


@pytest.mark.parametrize(("dtype", "most"), [(nl.uint8, 255), (nl.int16, 32767)])
def test_random_bits_fill_their_type(run_newer: Run, dtype: Any, most: int) -> None:
    result = run_into(run_newer, nisa.rng, (128, 64), dtype)

    assert result.dtype == dtype
    assert result.max() > 0.95 * most


def test_random_bits_need_an_integer_destination(run_newer: Run) -> None:
    with pytest.raises(NkiError, match="returns integers, but dst is float32"):
        run_into(run_newer, nisa.rng, (32, 8), nl.float32)


def test_a_reduction_inside_the_result_is_written_after_it(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((32, 24), nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            tile, nl.square, nl.load(x), reduce_op=nl.add, reduce_res=tile[:, 23:24]
        )
        out = nl.ndarray((32, 24), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    result = run_newer(kernel, X).result

    assert np.allclose(result[:, :23], X[:, :23] ** 2)
    assert np.allclose(result[:, 23], (X * X).sum(axis=1), rtol=1e-5)
