"""Arrays that are made without pandas are those that pyarrow makes."""

import datetime
from array import array

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema.arrays import array_of, array_of_memory, comparable, memory_of
from kvtrace.schema.numpy_arrays import are_null, array_of_numpy, numpy_of
from kvtrace.schema.table_types import FACTS, NAME, TIME
from kvtrace.schema.tables import TABLES
from tests.support.thorough import usually

TYPES = sorted({field.type for table in TABLES.values() for field in table.schema}, key=str)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def values_of(kind):
    """Values of a type, null among them."""
    if pa.types.is_list(kind):
        made = st.lists(values_of(kind.value_type), max_size=3)
    elif pa.types.is_struct(kind):
        made = st.fixed_dictionaries(
            {}, optional={field.name: values_of(field.type) for field in kind}
        )
    elif pa.types.is_map(kind):
        made = st.dictionaries(TEXTS, TEXTS | st.none(), max_size=3)
    elif pa.types.is_timestamp(kind):
        made = st.integers(-(2**63), 2**63 - 1)
    elif pa.types.is_integer(kind):
        made = st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    elif pa.types.is_floating(kind):
        made = st.floats(allow_nan=False)
    elif pa.types.is_boolean(kind):
        made = st.booleans()
    elif pa.types.is_binary(kind):
        made = st.binary(max_size=4)
    else:
        made = TEXTS
    return st.none() | made


def by_pyarrow(values, kind):
    if pa.types.is_map(kind):
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(max_examples=usually(15, thorough=150), deadline=None)
@given(data=st.data())
def test_array_of_python_values_equals_pyarrows_array(kind, data):
    values = data.draw(st.lists(values_of(kind), max_size=20))

    made = array_of(values, kind)

    made.validate(full=True)
    assert made.type == kind
    assert made.equals(by_pyarrow(values, kind))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5], pa.int64()),
        (["1"], pa.int64()),
        ([""], pa.int32()),
        ([2**31], pa.int32()),
        ([-1], pa.uint8()),
        (["1"], pa.float64()),
        ([datetime.datetime.now(datetime.UTC)], TIME),
        ([1], pa.string()),
        ([b"a"], pa.string()),
        ([1], NAME),
        (["a"], pa.binary()),
        ([1], pa.bool_()),
        (["ab"], pa.list_(pa.string())),
        ([{"a": 1}], pa.list_(pa.string())),
        ([3], pa.list_(pa.int64())),
        ([[["a", 1]]], FACTS),
        ([{None: "a"}], FACTS),
        ([("a",)], pa.struct([("a", pa.string())])),
        ([{"b": "a"}], pa.struct([("a", pa.string())])),
        ([datetime.date.today()], pa.date32()),
    ],
)
def test_array_of_refuses_values_that_do_not_fit_the_type(values, kind):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        array_of([None, *values], kind)


@pytest.mark.parametrize("kind", ["i4", "i8", "u2", "f4", "f8", "?"])
@given(data=st.data())
def test_numpy_numbers_survive_conversion_to_arrow_and_back(kind, data):
    numbers = st.booleans() if kind == "?" else st.integers(0, 100)
    rows = data.draw(st.lists(st.tuples(numbers, st.booleans()), max_size=40))
    values = np.array([value for value, _ in rows], kind)
    absent = np.array([flag for _, flag in rows], bool)
    first, last = sorted(data.draw(st.integers(0, len(rows))) for _ in range(2))

    whole, gaps = array_of_numpy(values), array_of_numpy(values, absent)

    assert whole.equals(pa.array(values))
    assert gaps.equals(pa.array(values, mask=absent))
    part = gaps.slice(first, last - first)
    assert are_null(part).tolist() == absent[first:last].tolist()
    assert numpy_of(part, 1).tolist() == np.where(absent, 1, values)[first:last].tolist()
    assert numpy_of(whole).dtype == values.dtype


def test_array_of_integers_accepts_floats_without_fraction():
    assert array_of([2.0, None, 3, np.float64(4)], pa.int32()).to_pylist() == [2, None, 3, 4]


def test_matrix_columns_texts_and_times_convert_between_numpy_and_arrow():
    matrix = np.arange(6).reshape(3, 2)
    assert [array_of_numpy(matrix[:, at]).to_pylist() for at in range(2)] == [[0, 2, 4], [1, 3, 5]]

    assert numpy_of(pa.array([5, 10**18], TIME)).tolist() == [5, 10**18]
    assert numpy_of(pa.array(["b", "a"], NAME)).tolist() == ["b", "a"]


@pytest.mark.parametrize("kind", ["i1", "i4", "i8", "u2", "f4", "f8", "?"])
@given(values=st.lists(st.integers(0, 1)), step=st.sampled_from([1, 2, -1]))
def test_array_of_memory_equals_pyarrows_array(kind, values, step):
    numbers = np.array(values, kind)[::step]

    assert array_of_memory(numbers).equals(pa.array(numbers))


@pytest.mark.parametrize(
    "values",
    [
        [1],
        np.zeros((2, 2)),
        np.zeros(1, ">i8"),
        np.zeros(1, "M8[ns]"),
        np.zeros(1, "f2"),
        b"ab"[:0],
    ],
)
def test_array_of_memory_is_none_for_unsupported_buffers(values):
    made = array_of_memory(values)
    assert made is None or made.equals(pa.array([], pa.uint8()))


def test_memory_of_an_array_slice_has_its_numbers_and_times():
    times = pa.array([5, 10**18, 7], TIME)

    assert memory_of(times.slice(1)).tolist() == [10**18, 7]
    assert memory_of(pa.array([], pa.int32())).tolist() == []
    assert array_of_memory(array("q", [1, 2])).equals(pa.array([1, 2]))


def test_comparable_values_have_zero_or_empty_text_for_null():
    assert list(comparable(pa.array([3, None], TIME))) == [3, 0]
    assert list(comparable(pa.array(["a", None]))) == ["a", ""]
    assert list(comparable(pa.array([3, 4], pa.int32()))) == [3, 4]
