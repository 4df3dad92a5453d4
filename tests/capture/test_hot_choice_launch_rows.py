"""Rows of the hot path as columns: the interpreter and the compiled part make the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.hot_choice import launch_rows
from kvtrace.capture.records import GRAPH_CAPTURE
from kvtrace.schema.hot_rows import columns_in_python
from kvtrace.schema.spool import FIELDS, GRAPH_SHIFT, ROW

SECOND = 1_000_000_000
TIMES = st.integers(0, 3 * SECOND)
PHASES = st.builds(
    lambda phase, graph: phase | graph << GRAPH_SHIFT,
    st.integers(0, 3),
    st.sampled_from([0, 0, 5, 0x7FFFFF]),
)
WIDE, NARROW = st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1)
#: What fields have; the others have any number.
VALUES = {
    "enter": TIMES,
    "exit": TIMES,
    "call_id": st.integers(0, 9),
    "thread": st.integers(1, 3),
    "contents": st.sampled_from([0, 0, 4]),
    "device": st.integers(-1, 2),
    "phase": PHASES,
}
ROWS = st.lists(
    st.tuples(*(VALUES.get(n, WIDE if kind == "q" else NARROW) for n, kind in FIELDS.items())),
    max_size=30,
)


def packed_rows(rows):
    return b"".join(ROW.pack(*row) for row in rows)


@given(ROWS, st.integers(0, 2**50), TIMES)
def test_compiled_conversion_makes_the_same_columns(rows, first, last_exit):
    compiled = launch_rows(packed_rows(rows), first, last_exit)
    assert compiled == columns_in_python(packed_rows(rows), first, last_exit)


@pytest.mark.parametrize("make", [columns_in_python, launch_rows])
@given(rows=ROWS)
def test_columns_have_the_values_of_the_packed_rows(make, rows):
    found = make(packed_rows(rows), 7, 0)
    columns = found.columns
    for column in columns.values():
        column.validate(full=True)
    listed = {name: column.to_pylist() for name, column in columns.items()}
    given_rows = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    expected = {name: [row[name] for row in given_rows] for name in FIELDS}
    enter, phase, contents = (expected[name] for name in ("enter", "phase", "contents"))
    on_device = [each >= 0 for each in expected["device"]]
    for name in ("device", "stream"):
        pairs = zip(expected[name], on_device, strict=True)
        expected[name] = [value if on else None for value, on in pairs]
    expected["exit"] = list(map(max, enter, expected["exit"]))
    expected["seq"] = list(range(7, 7 + len(rows)))
    names = ["run", "autotune", "warmup", "graph_capture"]
    expected["phase"] = [names[each & 0xFF] for each in phase]
    expected["graph_id"] = [each >> GRAPH_SHIFT or None for each in phase]
    del expected["contents"]
    assert listed == expected
    assert found.threads == set(expected["thread"])
    assert found.saw_graph_capture == (GRAPH_CAPTURE in [each & 0xFF for each in phase])
    assert found.copied == [
        (number, 7 + place, expected["call_id"][place])
        for place, number in enumerate(contents)
        if number
    ]


@pytest.mark.parametrize(
    ("times", "last_exit", "back"),
    [
        ([(5, 9), (8, 12)], 4, False),
        ([(5, 9), (2, 8)], 4, False),  # two threads, in another order by so little
        ([(5, 9)], SECOND, True),  # since the rows before
        ([(SECOND, SECOND), (0, 1)], 0, True),
        ([(SECOND, 5)], 0, True),  # within a launch
    ],
)
@pytest.mark.parametrize("make", [columns_in_python, launch_rows])
def test_a_clock_that_was_set_back_is_noticed(times, last_exit, back, make):
    known = [{"enter": enter, "exit": leave, "device": -1} for enter, leave in times]
    rows = packed_rows([[row.get(name, 0) for name in FIELDS] for row in known])
    assert make(rows, 0, last_exit).stepped_back is back
