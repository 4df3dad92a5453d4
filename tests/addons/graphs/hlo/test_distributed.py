import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import distributed, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from tests.addons.graphs.hlo import xla
from tests.addons.graphs.hlo.agreement import agree

PAIRS, ALL = [[0, 1], [2, 3]], [[0, 1, 2, 3]]
RANDOM = np.random.default_rng(19)


PROGRAMS = {
    "sum": lambda x: distributed.all_reduce(x, ALL),
    "in pairs": lambda x: distributed.all_reduce(x, [[0, 2], [1, 3]], np.maximum),
    "product": lambda x: distributed.all_reduce(x, PAIRS, np.multiply),
    "any": lambda x: distributed.all_reduce(x > 1, PAIRS, np.logical_or),
    "gather": lambda x: distributed.all_gather(x, 0, PAIRS),
    "gather columns": lambda x: distributed.all_gather(x, -1, ALL),
    "scatter": lambda x: distributed.reduce_scatter(x, 0, ALL),
    "scatter columns": lambda x: distributed.reduce_scatter(x, 1, PAIRS, np.minimum),
    "exchange": lambda x: distributed.all_to_all(x, 0, 1, ALL),
    "exchange in pairs": lambda x: distributed.all_to_all(x, 1, 0, PAIRS),
    "several": lambda x: (x.sum(0), distributed.all_reduce(x.mean(1), ALL) - x.mean(1)),
    "bfloat16": lambda x: distributed.all_reduce(x.astype(ml_dtypes.bfloat16), ALL),
}

X = RANDOM.normal(size=(4, 6)).astype(np.float32)


@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives_have_equal_results_in_xla_and_numpy(name):
    graph = trace(PROGRAMS[name]).specialize(X)
    graph.num_replicas = 4

    ours, by_xla = graph.evaluate(X), xla.run_replicas(graph.to_stablehlo(), [[X]] * 4)[0]

    for mine, theirs in zip(ours, by_xla, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        tolerance = 2e-2 if mine.dtype == ml_dtypes.bfloat16 else 1e-5
        np.testing.assert_allclose(
            mine.astype(np.float64), theirs.astype(np.float64), tolerance, tolerance
        )


def test_collectives_give_results_computed_by_hand():
    def outcome(name):
        return trace(PROGRAMS[name]).specialize(X).evaluate(X)[0]

    np.testing.assert_allclose(outcome("sum"), 4 * X, rtol=1e-5)
    np.testing.assert_array_equal(outcome("in pairs"), X)
    np.testing.assert_array_equal(outcome("gather"), np.concatenate([X, X]))
    np.testing.assert_allclose(outcome("scatter"), 4 * X[:1], rtol=1e-5)
    np.testing.assert_array_equal(outcome("exchange"), np.hstack([X[:1]] * 4))


def test_collectives_of_arrays_run_as_if_all_replicas_had_them():
    x = X

    np.testing.assert_allclose(distributed.all_reduce(x, PAIRS), 2 * x, rtol=1e-6)
    np.testing.assert_array_equal(distributed.all_gather(x, 0, [[0, 1]]), np.vstack([x, x]))
    np.testing.assert_array_equal(
        distributed.reduce_scatter(x, 0, replica_groups=[[0, 1]], reduce_op=np.maximum), x[:2]
    )
    np.testing.assert_array_equal(
        distributed.all_to_all(x, split_dimension=0, concat_dimension=1, replica_groups=[[0, 1]]),
        np.hstack([x[:2], x[:2]]),
    )


def test_a_graph_has_the_number_of_replicas_that_its_collectives_name():
    graph = trace(PROGRAMS["sum"]).specialize(X)

    assert graph.num_replicas == 4
    assert "mhlo.num_replicas = 4" in graph.to_stablehlo()
    xla.verified(graph.to_stablehlo())


def test_a_plain_call_runs_all_replicas_on_the_same_inputs():
    total = trace(PROGRAMS["sum"])(X)

    np.testing.assert_allclose(total, 4 * X, rtol=1e-6)


def test_collectives_with_bad_groups_pairs_or_types_are_refused():
    for program, error, match in (
        (lambda x: distributed.all_reduce(x, [[0, 1], [1, 2]]), BadArgument, "do not name each"),
        (lambda x: distributed.all_reduce(x, [[0, 1], [2]]), BadArgument, "different sizes"),
        (lambda x: distributed.all_reduce(x, ALL, np.hypot), BadArgument, "use one of np.add"),
        (lambda x: distributed.all_reduce(x, ALL, np.logical_or), BadArgument, "need bools"),
        (lambda x: distributed.reduce_scatter(x, 1, ALL), ShapeMismatch, "evenly"),
    ):
        with pytest.raises(error, match=match):
            trace(program).specialize(X)


def test_collectives_of_one_replica_return_its_tensor():
    def program(x):
        gathered = distributed.all_gather(x, 0, [[0]])
        scattered = distributed.reduce_scatter(gathered, 1, [[0]])
        return distributed.all_reduce(distributed.all_to_all(scattered, 0, 1, [[0]]), [[0]])

    graph = agree(program, X, numpy=lambda x: x)

    assert graph.num_replicas == 1
    np.testing.assert_array_equal(trace(program)(X), X)
