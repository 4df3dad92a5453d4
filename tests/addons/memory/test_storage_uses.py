"""Uses of storages, against a loop over all launches and operations."""

import random

import pytest

from kvtrace.addons.memory import storage_uses
from kvtrace.addons.memory.lives import Place
from kvtrace.addons.memory.storage_uses import Span, uses_of
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import EPOCH, given, tensor


@pytest.mark.parametrize("at_once", [7, 1 << 18])
def test_uses_are_those_within_a_spans_bytes_and_time(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(storage_uses, "_AT_ONCE", at_once)
    drawn = random.Random(0)
    calls = [[given(64)] * count for count in (1, 2, 3)]
    operators = [
        ("aten::add_.Tensor", line, [tensor("written", 64)] * count)
        for line, count in ((10, 1), (11, 2))
    ]
    events = []
    for time in range(10, 900):
        kind, tensors = drawn.choice(
            [("launch", call) for call in calls] + [("operator", of) for _, _, of in operators]
        )
        number = calls.index(tensors) if kind == "launch" else len(tensors) - 1
        events.append((kind, time, number, [drawn.randrange(1000) for _ in tensors]))
    trace = hand_made.write(tmp_path, operators=operators, calls=calls, events=events)
    spans = [Span(0, 1000, EPOCH, EPOCH + 1000), Span(100, 64, EPOCH + 200, EPOCH + 500),
             Span(990, 1, EPOCH, EPOCH + 1000), Span(5000, 64, EPOCH, EPOCH + 1000)]  # fmt: skip

    uses = uses_of(trace, trace.runs[0], spans)

    for span, of_span in zip(spans, uses, strict=True):
        times = {}
        for kind, time, number, addresses in events:
            for position, address in enumerate(addresses):
                inside = span.address <= address < span.address + span.size
                if inside and span.begin <= EPOCH + time < span.stop:
                    times.setdefault(Place(kind, number, position), []).append(EPOCH + time)
        assert {use.place: (use.count, use.first, use.last) for use in of_span} == {
            place: (len(at), at[0], at[-1]) for place, at in times.items()
        }
        assert [use.first for use in of_span] == sorted(use.first for use in of_span)
    assert len(uses[0]) == 9
    assert uses[3] == []
