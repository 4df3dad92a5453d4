import numpy as np
import pytest
from google.protobuf.internal.decoder import _DecodeVarint
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.parallel import in_order
from kvtrace.converters.timeline.pieces import (
    ByteTable,
    Constant,
    Decimal,
    Lookup,
    PartialRows,
    concatenate_rows,
)
from kvtrace.converters.timeline.protobuf import Fixed64, Varint, length_prefixed, varint
from tests.support.thorough import usually

INT64 = st.integers(0, 2**63 - 1)
UINT64 = st.integers(0, 2**64 - 1)


@given(UINT64)
def test_varint_is_read_back_by_protobuf(value):
    encoded = varint(value)

    assert _DecodeVarint(encoded, 0) == (value, len(encoded))


@given(st.lists(UINT64, max_size=40))
def test_a_column_of_varints_equals_single_ones(values):
    column = concatenate_rows([Varint(np.array(values, np.uint64))], len(values))

    assert column.tobytes() == b"".join(varint(value) for value in values)


@given(st.lists(INT64, max_size=40))
def test_a_column_of_decimals_equals_str(values):
    pieces = [Decimal(np.array(values, np.int64)), Constant(b"\n")]

    lines = concatenate_rows(pieces, len(values)).tobytes()

    assert lines == "".join(f"{value}\n" for value in values).encode()


@settings(max_examples=usually(50, thorough=200))
@given(st.data())
def test_rows_are_concatenations_of_their_pieces(data):
    count = data.draw(st.integers(0, 30))
    entries = data.draw(st.lists(st.binary(max_size=40), min_size=1, max_size=6))
    index = data.draw(st.lists(st.integers(0, len(entries) - 1), min_size=count, max_size=count))
    numbers = data.draw(st.lists(UINT64, min_size=count, max_size=count))
    chosen = [row for row in range(count) if data.draw(st.booleans())]

    rows = np.array(chosen, np.int64)
    words = np.array(numbers, np.uint64)
    lookup = Lookup(ByteTable(entries), np.array(index, np.int64))
    inner = [
        lookup,
        PartialRows(rows, [Constant(b"<"), Varint(words[rows]), Constant(b">")], count),
    ]
    pieces = [*length_prefixed(b"\x0a", inner, count), Fixed64(words)]
    encoded = concatenate_rows(pieces, count)

    expected = b""
    for row in range(count):
        content = entries[index[row]]
        if row in chosen:
            content += b"<" + varint(numbers[row]) + b">"
        expected += b"\x0a" + varint(len(content)) + content + numbers[row].to_bytes(8, "little")
    assert encoded.tobytes() == expected


def test_results_come_in_the_order_of_the_tasks():
    tasks = [lambda n=n: np.arange(100_000).sum() + n for n in range(50)]

    results = list(in_order(tasks))

    assert [result - results[0] for result in results] == list(range(50))


def test_failed_task_raises_when_its_result_is_read():
    def fail():
        raise ValueError("task 2")

    results = in_order([lambda: 1, fail, lambda: 3])

    assert next(results) == 1
    with pytest.raises(ValueError, match="task 2"):
        next(results)
