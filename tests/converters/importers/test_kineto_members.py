"""Events of Kineto: decoded by their types, and as any JSON, they are the same."""

import json

import pytest
from msgspec import UNSET

from kvtrace.converters.importers.event_rows import EventRows
from kvtrace.converters.importers.kineto_members import (
    KeptEvents,
    decode_events,
    event_of,
    ids_of,
)
from kvtrace.converters.importers.rows import NONE

RANGE = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5.25, "dur": 3'
EVENTS = [
    RANGE + ', "args": {"External id": 7, "Input Dims": [[1, 2]], "Concrete Inputs": ["é", ""]}}',
    RANGE + ', "args": {"correlation": true, "External id": 18446744073709551616}}',
    RANGE + ', "args": {"Call stack": "a;b", "correlation": 9}}',
    RANGE + ', "args": [1, 2]}',
    RANGE + ', "args": {}}',
    RANGE + "}",
    '{"ph": "s", "id": 4, "pid": 1, "tid": 2, "ts": 1, "cat": "ac2g", "name": "ac2g", "bp": "e"}',
    '{"ph": "i", "s": "t", "name": "x", "pid": 1.0, "tid": null, "ts": 1e3}',
    '{"name": "process_name", "ph": "M", "args": {"name": "args", "args": {"a": 1}}}',
]


@pytest.mark.parametrize("text", EVENTS)
@pytest.mark.parametrize("exact", [False, True])
def test_an_event_is_the_same_however_it_is_decoded(text, exact):
    (typed,), other = decode_events(f"[{text}]", exact=exact), event_of(json.loads(text))

    assert typed.members() == other.members()
    assert typed.arguments() == other.arguments()
    assert ids_of(typed) == ids_of(other)


@pytest.mark.parametrize(
    "text",
    ['{"ph": "X", "more": 1}', '{"ph": "X", "args": {"a": NaN}}', "5", '{"name": "\\ud800"}'],
)
def test_events_with_other_keys_or_loose_json_are_not_decoded_by_type(text):
    assert decode_events(f"[{RANGE}}}, {text}]", exact=False) is None


def test_other_keys_are_kept():
    event = event_of({"ph": "X", "more": [1], "args": {"a": 1}})
    assert event.members() == {"ph": "X", "more": [1]}
    assert event.name is UNSET


def test_a_value_that_is_no_object_is_no_event():
    with pytest.raises(TypeError):
        event_of([1])


def test_events_like_one_before_have_its_columns():
    """The second is added by the shape of the first, but for what only it has."""
    rows = EventRows()
    kept = KeptEvents(rows, lambda category, name: False)
    events = decode_events(f"[{EVENTS[0]}, {EVENTS[1]}, {EVENTS[5]}, {EVENTS[5]}]", exact=False)

    times = [kept.add(event, record) for record, event in enumerate(events)]

    assert times == [(5250, 8250)] * 4
    columns = [entry[3:] for entry in rows._pending]
    assert columns == [(NONE, 7, 0), (NONE, NONE, 0), (NONE, NONE, 0), (NONE, NONE, 0)]
    assert [json.loads(text) if text else None for text in rows._members] == [
        {"args": json.loads(EVENTS[0])["args"]},
        {"args": json.loads(EVENTS[1])["args"]},
        None,
        None,
    ]
