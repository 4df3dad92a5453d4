"""Events of Kineto: decoded by their types, and as any JSON, they are the same."""

import json

import numpy as np
import pytest
from msgspec import UNSET

from kvtrace.converters.importers.event_rows import EventRows
from kvtrace.converters.importers.kineto_members import (
    EventBatch,
    EventKey,
    add_event,
    decode_events,
    event_of,
    ids_of,
)

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


def test_a_batch_has_the_columns_of_its_events_added_singly():
    events = decode_events(f"[{', '.join(EVENTS[i] for i in (0, 4, 5, 5, 6))}]", exact=False)
    rows = EventRows()
    for record, event in enumerate(events):
        add_event(rows, event, record)

    batch = EventBatch(events)
    keys = [EventKey(*key) for key in batch.keys]

    everything = range(len(events))
    assert all(key.is_common for key in keys)
    assert batch.members(everything, [key.prefix for key in keys]) == rows._members
    ids = np.column_stack([*batch.ids(everything)]).ravel().tolist()
    columns = rows._rows.arrays()
    one, other = columns["correlation_id"], columns["external_id"]
    assert ids == np.column_stack([one, other]).ravel().tolist()
    begins, ends = batch.times(everything)
    assert begins.tolist() == columns["begin"].tolist()
    assert ends[:4].tolist() == columns["end"][:4].tolist()
    assert not keys[4].is_range


@pytest.mark.parametrize("text", [EVENTS[7], EVENTS[8], EVENTS[0].replace("5.25", '"5.25"')])
def test_events_without_usual_texts_ids_or_times_are_not_common(text):
    (key,) = EventBatch(decode_events(f"[{text}]", exact=False)).keys
    assert not EventKey(*key).is_common


def test_ids_and_texts_that_no_column_has_are_added_singly():
    events = decode_events(f"[{EVENTS[1]}, {EVENTS[2]}, {EVENTS[5]}]", exact=False)
    assert EventBatch(events).has_usual_ids().tolist() == [False, False, True]


@pytest.mark.parametrize("name", ["NaN", "Infinity", "args"])
def test_args_with_unusual_texts_are_as_of_a_single_event(name):
    text = RANGE + f', "args": {{ "{name}":  [1,  2] }}}}'
    events = decode_events(f"[{text}, {EVENTS[0]}]", exact=False)
    rows = EventRows()
    for record, event in enumerate(events):
        add_event(rows, event, record)
    assert EventBatch(events).members([0, 1], ["", ""]) == rows._members


def test_times_of_many_digits_are_exact_to_the_nanosecond():
    text = RANGE.replace("5.25", "1700000000000000.123") + "}"
    for exact, ns in ((True, 1_700_000_000_000_000_123), (False, 1_700_000_000_000_000_000)):
        begins, ends = EventBatch(decode_events(f"[{text}]", exact=exact)).times([0])
        assert abs(begins[0] - ns) <= (0 if exact else 250)
        assert ends[0] - begins[0] == 3000
