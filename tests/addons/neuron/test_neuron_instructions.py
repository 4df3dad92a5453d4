"""Instructions with registers, states and stages, each against NumPy."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import X, run_into, run_op

# -- stages -------------------------------------------------------------------------------------


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
