import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.errors import BadIndex, RefusedMutation, ShapeMismatch
from tests.addons.graphs.hlo.agreement import agree
from tests.support.thorough import usually

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

INDICES = [
    np.s_[1],
    np.s_[-1],
    np.s_[1, 2, 3],
    np.s_[0:2],
    np.s_[::2],
    np.s_[::-1],
    np.s_[:, ::-2, 4:0:-3],
    np.s_[..., 1],
    np.s_[1, ..., None],
    np.s_[None, :, None, 2],
    np.s_[...],
    np.s_[()],
    np.s_[5:9],
    np.s_[:, 3:1],
    np.s_[-2:, -3:-1, np.int64(2)],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reads_and_writes_at_a_basic_index_equal_numpys(index):
    def write(x, value):
        x[index] = value
        return x

    def add(x):
        x[index] += 2
        x[index] = x[index] * 3

    agree(lambda x: x[index], X)
    agree(write, X, np.float32(7))
    agree(write, X, np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape))
    agree(add, X)


def slices(extent):
    ends = st.none() | st.integers(-extent - 2, extent + 2)
    return st.builds(slice, ends, ends, st.none() | st.integers(-3, 3).filter(bool))


PARTS = st.one_of(slices(4), st.integers(-2, 1), st.none())


@given(
    st.lists(PARTS, max_size=4),
    st.booleans(),
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
)
@settings(max_examples=usually(10, thorough=40), deadline=None)
def test_reads_and_writes_at_random_basic_indices_equal_numpys(parts, ellipsis, shape):
    used = sum(part is not None for part in parts)
    if used > len(shape):
        return
    index = (*parts, ...) if ellipsis else tuple(parts)
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    value = np.arange(x[index].size, dtype=np.int32).reshape(x[index].shape) + 100

    def write(x, value):
        taken = x[index] * 1
        x[index] = value
        return taken

    agree(write, x, value)


def test_views_write_to_their_base_and_have_the_bases_new_values():
    def program(x):
        row, column = x[1], x[:, 0]
        row[2] = 100.0
        column += 1.0
        x[0, 0] = -5.0
        inner = row[1:3]
        inner *= 2.0
        transposed = x.T
        transposed[0] = 9.0
        flat = x.reshape(-1)
        flat[3] = 77.0
        back = x[::-1]
        back[0, 1] = 3.0
        return row, column, inner, transposed, flat

    agree(program, np.arange(12, dtype=np.float32).reshape(3, 4))


def test_copies_are_independent_of_their_original():
    def program(x):
        y = x.copy()
        y[0] = 1.0
        z = x + 0
        z += 5.0
        w = x.flatten()
        w[0] = 2.0
        return y, z, w

    graph = agree(program, np.arange(6, dtype=np.float32).reshape(2, 3))
    assert graph.aliases == {}


def test_two_names_of_one_tensor_change_together():
    def program(x):
        y = x
        y += 1.0
        return x * 2

    graph = agree(program, np.ones(3, np.float32))
    assert graph.aliases == {"x": "x"}


def refused(program, *arrays, error):
    with pytest.raises(error) as caught:
        trace(program).specialize(*arrays)
    text = str(caught.value)
    assert "test_indexing.py:" in text
    assert text.count("\n") == 0
    assert text.endswith(".")
    return text


def test_writing_to_a_read_only_view_or_one_that_numpy_may_copy_is_refused():
    def program(x):
        v = x.T.reshape(-1)
        v[0] = 1.0
        return x

    assert "copy()" in refused(program, X, error=RefusedMutation)
    assert "read-only" in refused(
        lambda x: np.broadcast_to(x, (2, *x.shape)).fill(0), X, error=RefusedMutation
    )


def test_indices_outside_of_an_axis_are_refused():
    refused(lambda x: x[3], X, error=BadIndex)
    refused(lambda x: x[0, 0, 0, 0], X, error=BadIndex)
    refused(lambda x: x[0].__setitem__(0, np.zeros(3)), X, error=ShapeMismatch)
