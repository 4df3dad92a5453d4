"""Drawn programs of views and assignments: a graph sees what NumPy's memory shows, or refuses."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.errors import RefusedMutation
from tests.addons.graphs.hlo.agreement import words
from tests.support.thorough import usually

KINDS = words(
    "index slice step back newaxis transpose swap flip reshape ravel squeeze copy plus "
    "write add scale assign fill row"
)


def play(x, moves):
    """Run the moves; each works on one of the arrays that there are so far."""
    arrays = [x]
    for kind, which, number in moves:
        a = arrays[which % len(arrays)]
        other = arrays[number % len(arrays)]
        view = viewed(a, kind, number)
        if view is not None:
            arrays.append(view)
        elif kind == "write" and a.ndim and a.shape[0]:
            a[number % a.shape[0]] = float(number)
        elif kind == "add":
            a += 1.5
        elif kind == "scale" and a.ndim:
            a[..., ::2] *= 2.0
        elif kind == "assign" and other.shape == a.shape:
            a[...] = other
        elif kind == "fill" and a.ndim:
            a[1:] = 7.0
        elif kind == "row" and a.ndim > 1 and other.shape == a.shape[1:]:
            a[0] = other
    return arrays


def viewed(a, kind, number):
    if kind == "copy":
        return a.copy()
    if kind == "plus":
        return a + 1.0
    if kind == "transpose":
        return a.T
    if kind == "swap" and a.ndim > 1:
        return a.swapaxes(0, -1)
    if kind == "flip":
        return np.flip(a)
    if kind == "newaxis":
        return a[None]
    if kind == "squeeze":
        return np.squeeze(a)
    if kind == "ravel":
        return a.ravel()
    if kind == "reshape":
        return a.reshape(a.shape[::-1])
    if not a.ndim or not a.shape[0]:
        return None
    if kind == "index":
        return a[number % a.shape[0]] if a.ndim > 1 else None
    if kind == "slice":
        return a[number % a.shape[0] :]
    if kind == "step":
        return a[..., :: 1 + number % 3]
    return a[::-1] if kind == "back" else None


MOVES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12
)


@given(MOVES)
@settings(max_examples=usually(25, thorough=100), deadline=None)
def test_random_sequences_of_views_and_assignments_equal_numpys(moves):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    changed = x.copy()
    expected = play(changed, moves)
    try:
        graph = trace(lambda x: play(x, moves)).specialize(x)
    except RefusedMutation:
        return
    argument = x.copy()
    results = graph.run(argument)
    for number, (ours, reference) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(ours, reference, err_msg=f"array {number}")
    np.testing.assert_array_equal(argument, changed)
