"""NKI kernels called by a traced NumPy function: one op of the graph, and launches."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import older

hlo = pytest.importorskip("kvtrace.hlo", reason="the add-on graphs is not here")
trace = hlo.trace

X = np.arange(32 * 16, dtype=np.float32).reshape(32, 16)


@older.jit
def scaled(x: Any, factor: float) -> Any:
    """Multiply by a number."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), factor))
    return out


@older.jit
def both(pair: Any) -> Any:
    """Return the sum and the difference of two tensors, in half precision."""
    left, right = (nl.load(tensor) for tensor in pair)
    out = [nl.ndarray(left.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm) for _ in range(2)]
    nl.store(out[0], value=left + right)
    nl.store(out[1], value=left - right)
    return tuple(out)


@older.jit
def doubled_in_place(x: Any) -> Any:
    """Write to an argument."""
    nl.store(x, value=nl.load(x) * 2.0)
    return x


def block(x: Any, weights: Any) -> Any:
    """Call two kernels between NumPy functions."""
    hidden = np.maximum(x @ weights, 0)
    total, difference = both([scaled(hidden, 0.5), hidden])
    return total.astype(np.float32) + difference.astype(np.float32).sum()


def by_numpy(x: Any, weights: Any) -> Any:
    hidden = np.maximum(x @ weights, 0)
    parts = [hidden / 2 + hidden, hidden / 2 - hidden]
    total, difference = (part.astype(ml_dtypes.bfloat16).astype(np.float32) for part in parts)
    return total + difference.sum()


def test_a_kernel_called_in_a_trace_is_one_op() -> None:
    weights = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
    traced = trace(block)

    result = traced(X, weights)

    assert np.allclose(result, by_numpy(X, weights), rtol=1e-5)
    graph = traced.graphs[0]
    calls = [op for op in graph.ops if op.opcode == "custom_call"]
    assert [op.attributes["call_target_name"] for op in calls] == ["scaled", "both"]
    assert [graph.figures().ops[graph.ops.index(op)].flops for op in calls] == [512, 1024]
    text = graph.to_stablehlo()
    assert '"stablehlo.custom_call"' in text
    assert 'call_target_name = "both"' in text
    assert "(tensor<32x16xbf16>, tensor<32x16xbf16>)" in text
    assert Path(__file__).name in text


def test_a_graph_runs_its_kernel_on_other_data() -> None:
    traced = trace(lambda x: scaled(x, 3.0) + 1)

    assert np.array_equal(traced(X), 3 * X + 1)
    assert np.array_equal(traced(-X), 1 - 3 * X)
    assert len(traced.graphs) == 1


def test_a_kernel_in_a_graph_has_its_own_record(tmp_path: Path) -> None:
    traced = trace(lambda x: scaled(x, 3.0) + 1, name="outer")

    with kvtrace.capture(tmp_path / "out"):
        traced(X)
        traced(X)

    opened = kvtrace.open(tmp_path / "out")
    kernels = {row["name"]: row for row in opened.kernels}
    assert set(kernels) == {"outer", "scaled"}
    assert kernels["scaled"]["origin"] == "nki"
    kernel_of = {row["call_id"]: row["kernel_id"] for row in opened.calls}
    launched = [kernel_of[row["call_id"]] for row in opened.launches]
    assert [launched.count(kernels[name]["kernel_id"]) for name in ("outer", "scaled")] == [2, 2]


@older.jit
def moved_in_place(pair: Any) -> Any:
    """Write to one of two tensors, by a transfer within device memory; return something else."""
    out = nl.ndarray(pair[0].shape, dtype=pair[0].dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(pair[0]) + 1.0)
    nisa.dma_copy(src=pair[0], dst=pair[1])
    return out


def test_a_traced_argument_has_the_elements_that_the_kernel_wrote() -> None:
    def program(x: Any) -> Any:
        hidden = x * 3.0
        before = hidden + 0.0
        returned = doubled_in_place(hidden)
        return before, returned, hidden + 1.0

    traced = trace(program)
    for source in (X, -X):
        before, returned, after = traced(source)
        assert np.array_equal(before, 3 * source)
        assert np.array_equal(returned, 6 * source)
        assert np.array_equal(after, 6 * source + 1)


def test_a_kernels_writes_to_an_input_reach_the_caller() -> None:
    source, target = X.copy(), np.zeros_like(X)
    traced = trace(lambda x, y: moved_in_place([x, y]) + y)

    assert np.array_equal(traced(source, target), 2 * X + 1)
    assert np.array_equal(target, X)
    assert np.array_equal(source, X)


def test_an_input_that_is_not_mutable_is_not_written_to() -> None:
    def program(x: hlo.tensor[hlo.float32, (32, 16)]) -> Any:
        return doubled_in_place(x)

    with pytest.raises(hlo.GraphError, match="mutable"):
        trace(program)(X.copy())
