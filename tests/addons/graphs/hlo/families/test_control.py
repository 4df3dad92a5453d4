import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument, RefusedMutation, ShapeMismatch
from tests.addons.graphs.hlo.agreement import agree

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


@pytest.mark.process
def test_cond_returns_the_results_of_the_chosen_function():
    def program(x, limit):
        scale = x * 2
        return ops.cond(
            x.sum() > limit[0],
            lambda x: {"value": x + scale, "sign": x.sum()},
            lambda x: {"value": x - 1, "sign": -x.sum()},
            x,
        )

    def by_hand(x, limit):
        return (x + x * 2, x.sum()) if x.sum() > limit[0] else (x - 1, -x.sum())

    for limit in (0.0, 100.0):
        agree(program, X, np.array([limit], np.float32), numpy=by_hand)


@pytest.mark.process
def test_a_loop_runs_as_long_as_its_condition_holds():
    def program(x):
        def smaller(state):
            return state["x"] / 2, state["n"] + 1

        state = ops.while_loop(
            lambda s: np.max(np.abs(s["x"])) > 0.5,
            lambda s: dict(zip(("x", "n"), smaller(s), strict=True)),
            {"x": x, "n": 0},
        )
        return state["x"], state["n"]

    def by_hand(x):
        n = 0
        while np.max(np.abs(x)) > 0.5:
            x, n = x / 2, n + 1
        return x, n

    agree(program, X, numpy=by_hand)
    agree(program, X * 0, numpy=by_hand)


def test_fori_loop_equals_a_python_loop_over_the_same_range():
    def program(x):
        def body(i, total):
            total[i % 2] += x[i % 2] * i.astype(np.float32)  # carried, so it may be written to
            return total

        return ops.fori_loop(1, 5, body, np.zeros_like(x))

    def by_hand(x):
        total = np.zeros_like(x)
        for i in range(1, 5):
            total[i % 2] += x[i % 2] * i
        return total

    graph = agree(program, X, numpy=by_hand)
    (loop,) = (op for op in graph.ops if op.opcode == "while")
    assert loop.attributes["trip_count"] == 4
    assert graph.figures().unknown_loops == 0
    inside = [op for op in loop.graphs["body"].ops if op.opcode == "multiply"]
    assert graph.figures().flops >= 4 * 3 * len(inside)
    agree(
        lambda x, n: ops.fori_loop(0, n, lambda i, v: v + 1, x),
        X,
        np.array(3, np.int32),
        numpy=lambda x, n: x + n,
    )


def test_control_flow_with_bad_predicates_or_structures_is_refused():
    def writes_outside(x):
        def body(i, total):
            x[0] = 1.0
            return total

        return ops.fori_loop(0, 2, body, x * 1)

    for program, error, match in (
        (lambda x: ops.cond(x > 0, lambda: x, lambda: x), BadArgument, "one bool without axes"),
        (lambda x: ops.cond(True, lambda: x, lambda: x[0]), ShapeMismatch, "two branches"),
        (lambda x: ops.cond(True, lambda: x, lambda: (x, x)), ShapeMismatch, "two branches"),
        (lambda x: ops.while_loop(lambda x: x > 0, lambda x: x, x), BadArgument, "condition"),
        (lambda x: ops.fori_loop(0, 2, lambda i, x: x[0], x), ShapeMismatch, "body of a loop"),
        (lambda x: ops.fori_loop(0, 2, lambda i, x: (x, x), x), BadArgument, "structure"),
        (writes_outside, RefusedMutation, "carry it through"),
    ):
        with pytest.raises(error, match=match) as caught:
            trace(program).specialize(X)
        assert "test_control.py:" in str(caught.value)
