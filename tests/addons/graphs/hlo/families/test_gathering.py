import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadIndex, DataDependent, RefusedMutation
from tests.addons.graphs.hlo.agreement import agree
from tests.support.thorough import usually

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
ROWS = np.array([2, 0, -1], np.int32)
GRID = np.array([[0, 1], [3, -4]], np.int64)

INDICES = [
    lambda i, j: (i,),
    lambda i, j: (slice(None), j),
    lambda i, j: (Ellipsis, j),
    lambda i, j: (i, slice(1, 3)),
    lambda i, j: (i, slice(None), i),
    lambda i, j: (slice(None), j, j),
    lambda i, j: (i, i, i),
    lambda i, j: (i[:, None], i[None, :]),
    lambda i, j: (None, i, slice(None, None, 2)),
    lambda i, j: (1, slice(None), j),
    lambda i, j: (slice(None, None, -1), 2, i),
    lambda i, j: (i[0],),
    lambda i, j: (i[0], slice(None), i[1]),
    lambda i, j: (i, None, j[0, 0]),
]


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_reads_and_writes_at_an_index_of_arrays_equal_numpys(number):
    index = INDICES[number]

    def program(x, i, j, value):
        taken = x[index(i, j)]
        x[index(i, j)] = value
        return taken

    shape = X[index(ROWS, GRID)].shape
    value = -np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    # Where an element is written twice, which of both stays is not said.
    x = X.copy()
    x[index(ROWS, GRID)] = 1
    if x[x == 1].size < value.size:
        value = np.float32(7)
    agree(program, X, ROWS, GRID, value)
    agree(lambda x: x[index(ROWS, GRID)], X)  # positions that are known while tracing


@given(st.data())
@settings(max_examples=usually(8, thorough=25), deadline=None)
def test_reads_and_writes_at_random_indices_of_arrays_equal_numpys(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    batch = data.draw(st.sampled_from([(), (2,), (3, 1), (0,)]))
    parts = []
    for extent in shape:
        kind = data.draw(st.sampled_from(["data", "slice", "int", "new"]))
        if kind == "new":
            parts.append(None)
        if kind == "int":
            parts.append(data.draw(st.integers(-extent, extent - 1)))
        elif kind == "data":
            size = int(np.prod(batch))
            numbers = data.draw(
                st.lists(st.integers(-extent, extent - 1), min_size=size, max_size=size)
            )
            parts.append(np.array(numbers, np.int32).reshape(batch))
        else:
            parts.append(slice(None, None, data.draw(st.sampled_from([1, -1, 2]))))
    x = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]

    def program(x, *given):
        rest = iter(given)
        return x[tuple(next(rest) if isinstance(p, np.ndarray) else p for p in parts)]

    agree(program, x, *arrays)


def test_reads_and_writes_through_masks_equal_numpys():
    mask = X > 30
    rows = X[:, 0, 0] > 10

    def written(x, mask, rows):
        x[mask] = 0.0
        x[rows] = np.float32(2)

    agree(written, X, mask, rows)
    agree(lambda x: (x[mask], x[:, [True, False, True, True]]), X)  # known while tracing
    for program, match in (
        (lambda x, m: x[m], "a traced mask selects depends on data"),
        (lambda x, m: x[m].sum(), "a traced mask selects depends on data"),
        (lambda x, m: x.__setitem__(m, x[0, 0]), "one value for all"),
    ):
        with pytest.raises(DataDependent, match=match):
            trace(program).specialize(X, mask)


def test_indices_that_do_not_fit_the_tensor_are_refused():
    for program, match in (
        (lambda x: x[X > 1][:, 5], "too many indices|out of bounds for axis 1"),
        (lambda x: x[x], "consists of integers or bools, not float32"),
        (lambda x: x[x[0] > 1], "a traced mask selects depends on data|does not fit"),
    ):
        with pytest.raises((BadIndex, DataDependent), match=match):
            trace(program).specialize(X)


def test_add_at_adds_to_an_element_once_per_index_that_names_it():
    rows = np.array([0, 2, 0, 0], np.int32)

    def program(x, rows):
        np.add.at(x, rows, 1.0)
        np.add.at(x, (rows, slice(None), 1), 2.0)
        np.maximum.at(x, rows, 30.0)

    agree(program, X, rows)
    agree(
        lambda x, rows: ops.scatter(x, rows, x[rows], "add"),
        X,
        rows,
        numpy=lambda x, rows: _added(x, rows, x[rows]),
    )


def _added(x, rows, values):
    result = x.copy()
    np.add.at(result, rows, values)
    return result


def test_take_and_take_along_axis_equal_numpys():
    order = np.argsort(-X, axis=1)
    first = X.argmax(axis=2)[..., None]

    def program(x, rows, order, first):
        taken = np.take(x, rows, axis=0), np.take(x, rows), x.take([1, -1], axis=-1)
        along = np.take_along_axis(x, order, axis=1), np.take_along_axis(x, first, -1)
        np.put_along_axis(x, first, 99.0, axis=2)
        return *taken, *along

    agree(program, X, ROWS, order, first)
    agree(
        lambda x, first: ops.scatter_along_axis(x, first, 1.0, axis=-1),
        X,
        first,
        numpy=lambda x, first: (np.put_along_axis(y := x.copy(), first, 1.0, -1), y)[1:],
    )


def test_dynamic_slices_read_and_write_blocks_at_traced_positions():
    start = np.array(1, np.int32)
    update = np.full((1, 2, 5), -1, np.float32)

    def program(x, start, update):
        part = ops.dynamic_slice(x, (start, 0, start + 1), (1, 4, 2))
        changed = ops.dynamic_update_slice(x, update, (start, start, 0))
        filled = ops.dynamic_update_slice(x, 0.0, [start, 0, 0], (1, 4, 1))
        return part, changed, filled, ops.static_slice(x, (0, 1, 0), (1, 4, 5), (1, 2, 1), [0])

    def by_hand(x, start, update):
        changed, filled = x.copy(), x.copy()
        changed[1:2, 1:3] = update
        filled[1:2, :, :1] = 0
        return x[1:2, :, 2:4], changed, filled, x[0, 1:4:2]

    agree(program, X, start, update, numpy=by_hand)


def test_slices_between_traced_positions_are_refused():
    start = np.array(1, np.int32)
    for program in (lambda x, i: x[i : i + 2], lambda x, i: x[i:], lambda x, i: x[0, : i + 1]):
        with pytest.raises(DataDependent, match="size of a slice between traced positions"):
            trace(program).specialize(X, start)


def test_one_hot_has_ones_at_the_indices():
    agree(lambda i: ops.one_hot(i, 4), np.array([[0, 3], [1, 2]]), numpy=lambda i: np.eye(4)[i])


def test_an_array_indexed_by_a_tensor_must_be_made_a_constant():
    index = np.array([0, 2, 2], np.int32)
    table = np.linspace(0, 1, 4, dtype=np.float32)

    def counted(i):
        counts = ops.constant(np.zeros(4, np.float32))
        np.add.at(counts, i, 1)
        counts[i] *= ops.constant(table)[i]
        return counts

    def in_numpy(i):
        counts = np.zeros(4, np.float32)
        np.add.at(counts, i, 1)
        counts[i] *= table[i]
        return counts

    agree(counted, index, numpy=in_numpy)
    with pytest.raises(RefusedMutation, match=r"not a tensor of the graph at .*; make the array"):
        trace(lambda i: np.add.at(np.zeros(4, np.float32), i, 1)).specialize(index)
    for wrong in (lambda i: table[i], lambda i: table.copy().__setitem__(i, 1)):
        with pytest.raises(DataDependent, match=r"written into an array.* at .*; .*ops\.constant"):
            trace(wrong).specialize(index)


def test_positions_around_an_empty_ellipsis_are_the_first_axes_of_the_result():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    places = np.array([3, 0, 1, 3], np.int32)

    agree(
        lambda x, i: (x[:, 1, ..., i], x[:, 1, i], x[:, i % 3, ..., 2], x[1, ..., i], x[..., i]),
        x,
        places,
    )


def test_an_assignment_around_an_empty_ellipsis_has_its_positions_first():
    def program(x, i):
        x[:, 1, ..., i] = np.float32([[10.0, 20.0]])
        return x + 0

    agree(program, np.zeros((2, 3, 4), np.float32), np.array([3, 0, 1], np.int32))


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((3, 4), (np.array([0, 3]),)),
        ((3, 4), (slice(None), np.array(-5))),
        ((0, 4), (np.array([0]),)),
        ((3, 4), ([3],)),
    ],
)
def test_constant_positions_outside_of_the_axis_are_refused(shape, index):
    x = np.zeros(shape, np.float32)

    def write(x):
        x[index] = 1.0

    with pytest.raises(BadIndex, match="out of bounds for axis"):
        trace(lambda x: x[index]).specialize(x)
    with pytest.raises(BadIndex, match="out of bounds for axis"):
        trace(write).specialize(x)


def test_traced_positions_along_an_empty_axis_are_refused():
    x = np.zeros((3, 1, 0), np.float32)

    with pytest.raises(BadIndex, match="axis 2 has no elements"):
        trace(lambda x, i: x[..., i]).specialize(x, np.zeros(2, np.int32))
    agree(lambda x, i: x[i, :, i], x, np.zeros(0, np.int32))
