"""Rows of the hot path as columns: the interpreter and the compiled part make the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.hot import ROW
from kvtrace.capture.launch_rows import LaunchRows, columns_in_python, launch_rows, native
from kvtrace.capture.records import GRAPH_CAPTURE
from kvtrace.schema.spool import GRAPH_SHIFT

SECOND = 1_000_000_000
TIMES = st.integers(0, 3 * SECOND)
PHASES = st.builds(
    lambda phase, graph: phase | graph << GRAPH_SHIFT,
    st.integers(0, 3),
    st.sampled_from([0, 0, 5, 0x7FFFFF]),
)
ROWS = st.lists(
    st.tuples(
        TIMES, TIMES, st.integers(0, 9), st.integers(-(2**63), 2**63 - 1), st.integers(1, 3),
        st.sampled_from([0, 0, 4]), st.integers(-1, 2), PHASES,
    ),
    max_size=30,
)  # fmt: skip


def packed(rows):
    return b"".join(ROW.pack(*row) for row in rows)


@pytest.mark.skipif(native() is None, reason="there is no compiled part here")
@given(ROWS, st.integers(0, 2**50), TIMES)
def test_the_compiled_part_makes_the_same_columns(rows, first, last_exit):
    compiled = LaunchRows(*native().launch_columns(packed(rows), first, last_exit))
    assert compiled == columns_in_python(packed(rows), first, last_exit)


@given(ROWS)
def test_columns_are_what_the_rows_say(rows):
    found = launch_rows(packed(rows), 7, 0)
    columns = found.columns
    for column in columns.values():
        column.validate(full=True)
    listed = {name: column.to_pylist() for name, column in columns.items()}
    enter, leave, call, stream, thread, contents, device, phase = (
        zip(*rows, strict=True) if rows else ((),) * 8
    )
    on_device = [each >= 0 for each in device]
    assert listed["enter"] == list(enter)
    assert listed["exit"] == list(map(max, enter, leave))
    assert listed["seq"] == list(range(7, 7 + len(rows)))
    assert listed["call_id"] == list(call)
    assert listed["thread"] == list(thread)
    assert listed["device"] == [d if on else None for d, on in zip(device, on_device, strict=True)]
    assert listed["stream"] == [s if on else None for s, on in zip(stream, on_device, strict=True)]
    names = ["run", "autotune", "warmup", "graph_capture"]
    assert listed["phase"] == [names[each & 0xFF] for each in phase]
    assert listed["graph_id"] == [each >> GRAPH_SHIFT or None for each in phase]
    assert found.threads == set(thread)
    assert found.saw_graph_capture == (GRAPH_CAPTURE in [each & 0xFF for each in phase])
    assert found.copied == [
        (number, 7 + place, call[place]) for place, number in enumerate(contents) if number
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
    rows = packed([(*each, 0, 0, 1, 0, -1, 0) for each in times])
    assert make(rows, 0, last_exit).stepped_back is back
