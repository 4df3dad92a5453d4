"""The one question of every op: are NumPy, our evaluation and XLA of one mind?"""

import numpy as np

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.dtypes import is_float
from tests.addons.graphs.hlo import xla

#: Relative and absolute tolerance, by element type.
TOLERANCE = {
    "float64": (1e-6, 1e-6),  # constants and logarithms of composed functions are exact to this
    "float32": (3e-5, 3e-5),
    "float16": (4e-3, 4e-3),
    "bfloat16": (3e-2, 3e-2),
}


def words(text):
    """Names in one text, which reads better than a list of them."""
    return text.split()


def assert_close(actual, expected, what, tolerance=None):
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, (what, actual.shape, expected.shape)
    name = actual.dtype.name
    if not is_float(actual.dtype):
        if expected.dtype.kind == "f":
            expected = expected.astype(actual.dtype)
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    relative, absolute = tolerance or TOLERANCE.get(name, (0.26, 0.26))
    with np.errstate(over="ignore"):
        expected = expected.astype(actual.dtype)
    np.testing.assert_allclose(
        actual.astype(np.float64),
        expected.astype(np.float64),
        rtol=relative,
        atol=absolute,
        err_msg=what,
    )


def leaves(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def agree(function, *arguments, numpy=None, tolerance=None, dtypes=True, target="xla"):
    """Trace `function`; its graph run by us and by XLA gives what NumPy gives. Returns the graph.

    `numpy` is what NumPy itself runs, where it lacks the function or rounds otherwise. Arrays that
    the function writes to are compared as well.
    """
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        expected = [np.asarray(leaf) for leaf in leaves((numpy or function)(*copies))]
    graph = trace(function, target=target).specialize(*arguments)
    changed = graph.aliases
    outputs = graph.outputs
    written = [c for c in copies if isinstance(c, np.ndarray)]
    names = [spec.name for spec in graph.inputs]
    expected += [written[names.index(changed[spec.name])] for spec in outputs[len(expected) :]]
    by_us = graph.evaluate(*arrays)
    by_xla = xla.run(graph.to_stablehlo(), *arrays)
    assert len(by_us) == len(by_xla) == len(expected) == len(outputs)
    for spec, ours, theirs, reference in zip(outputs, by_us, by_xla, expected, strict=True):
        assert ours.dtype == theirs.dtype == spec.dtype, (spec, ours.dtype, theirs.dtype)
        assert ours.shape == theirs.shape == spec.shape, (spec, ours.shape, theirs.shape)
        assert_close(ours, reference, f"NumPy and our evaluation: {spec.name}", tolerance)
        assert_close(theirs, reference, f"NumPy and XLA: {spec.name}", tolerance)
    return graph


def agree_on_all(function, cases, numpy=None, tolerance=None):
    """`agree` for each tuple of arrays, all in one program: XLA compiles it once."""

    def of_all(each):
        def program(*arrays):
            rest = iter(arrays)
            return [each(*[next(rest) for _ in case]) for case in cases]

        return program

    arrays = [array for case in cases for array in case]
    return agree(of_all(function), *arrays, numpy=of_all(numpy or function), tolerance=tolerance)
