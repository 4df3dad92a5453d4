"""Memory on timelines: bytes in use and the largest storages, also in Perfetto's own engine."""

import json

import numpy as np
import pytest

from kvtrace.addons.memory import drawing
from kvtrace.converters.registry import load_converter
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.perfetto_check import check_file
from kvtrace.converters.timeline.timeline import Tally
from kvtrace.schema.trace import Selection, resolve
from kvtrace.schema.window import TraceWindow
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import EPOCH, A, given, tensor
from tests.engine.shell import executable
from tests.engine.trace_processor import TraceProcessor

EMPTY, ONES = "torch.empty at model.py:12", "torch.ones (first called at model.py:40)"
ZEROS, MUL = (f"torch.{n} (first called at model.py:{k})" for n, k in (("zeros", 20), ("mul", 30)))
UNSEEN = "made where kvtrace does not see it"
IN_USE = "memory in use on device 0, at least (derived)"


def drawn(trace, *window):
    """The timeline of the only run, or of a part of it between two times."""
    if window:
        trace = TraceWindow(trace, *(EPOCH + time for time in window))
    (timeline,) = timelines(Selection(trace, trace.runs))
    return timeline


def storages(timeline):
    """Name, begin and end of the slices of storages."""
    return sorted(
        (part.captions[caption].name, begin - EPOCH, begin + duration - EPOCH)
        for part in timeline.slices
        if part.category == "memory"
        for caption, begin, duration in zip(
            part.caption.tolist(), part.begin.tolist(), part.duration.tolist(), strict=True
        )
    )


def ends(timeline):
    """Name and kind of end of the slices of storages."""
    return [
        (part.captions[caption].name, dict(part.captions[caption].facts)["drawn until"])
        for part in timeline.slices
        if part.category == "memory"
        for caption in part.caption.tolist()
    ]


def bytes_in_use(timeline):
    return {
        part.track.name: dict(zip((part.time - EPOCH).tolist(), part.value.tolist(), strict=True))
        for part in timeline.counters
        if part.track.unit == "B"
    }


def test_storages_are_drawn_from_allocation_to_last_use(tmp_path):
    timeline = drawn(hand_made.small_program(tmp_path, frees=False))

    assert storages(timeline) == [
        (f"{UNSEEN}, 1.95 KiB", 20, 53),
        (f"{EMPTY}, 1,000 B", 10, 53),
        (f"{EMPTY}, 1,000 B", 70, 71),
        (f"{MUL}, 3.91 KiB", 50, 51),
        (f"{ONES}, 500 B", 14, 15),
        (f"{ZEROS}, 3.91 KiB", 30, 51),
    ]
    assert bytes_in_use(timeline) == {
        IN_USE: {10: 1000, 20: 3000, 30: 7000, 50: 11_000, 51: 3000, 53: 0, 70: 1000, 71: 0},
        "memory in use on device 1, at least (derived)": {14: 500, 15: 0},
    }
    assert (f"{EMPTY}, 1,000 B", "its last use; its memory was allocated again later") in ends(
        timeline
    )
    assert (f"{MUL}, 3.91 KiB", "its last use; when it was freed is not known") in ends(timeline)


def test_storages_are_drawn_until_they_were_freed_where_that_is_recorded(tmp_path):
    timeline = drawn(hand_made.small_program(tmp_path, frees=True))

    assert (f"{MUL}, 4 KiB", 45, 55) in storages(timeline)
    assert bytes_in_use(timeline)["memory in use on device 0 (derived)"][45] == 11_216
    assert [end for _, end in ends(timeline)].count("freed") == 3


def test_a_part_of_a_run_shows_what_was_in_use_then(tmp_path):
    timeline = drawn(hand_made.small_program(tmp_path, frees=False), 25, 50)

    assert storages(timeline) == [
        (f"{UNSEEN}, 1.95 KiB", 25, 50),
        (f"{EMPTY}, 1,000 B", 25, 50),
        (f"{MUL}, 3.91 KiB", 50, 50),
        (f"{ZEROS}, 3.91 KiB", 30, 50),
    ]
    assert bytes_in_use(timeline) == {IN_USE: {25: 3000, 30: 7000, 50: 11_000}}


def test_only_the_largest_storages_are_drawn(tmp_path):
    sizes = [4 * n for n in range(1, 131)]
    trace = hand_made.write(
        tmp_path,
        operators=[("aten::empty", n, [tensor("created", size)]) for n, size in enumerate(sizes)],
        calls=[[given(400)]],
        events=[("operator", 10 + 5 * n, n, [A + 4096 * n]) for n in range(130)],
    )

    timeline = drawn(trace)

    names = {name.rpartition(", ")[2] for name, _, _ in storages(timeline)}
    assert names == {f"{size} B" for size in sizes[30:]}
    tally = Tally()
    tally.add(timeline)
    assert "100 storages in memory" in tally.sentences()[0]
    assert (
        "left out: storages that are not among the 100 largest of a device (30)"
        in tally.sentences()
    )


def test_a_counter_of_many_changes_has_the_highest_of_each_interval(tmp_path, monkeypatch):
    events = [
        event
        for n in range(100)
        for event in (("operator", n * 700_000, 0, [A]), ("operator", n * 700_000 + 7, 1, [2 * A]))
    ]
    trace = hand_made.write(
        tmp_path,
        operators=[
            ("aten::empty", 1, [tensor("created", 400)]),
            ("aten::empty", 2, [tensor("created", 800)]),
        ],
        calls=[[given(400)]],
        events=[*events, ("launch", 69_800_000, 0, [A])],
    )
    exact = bytes_in_use(drawn(trace))[IN_USE]
    monkeypatch.setattr(drawing, "_MOST_CHANGES", 10)

    means = bytes_in_use(drawn(trace))[
        "memory in use on device 0, at least, highest in 1 ms (derived)"
    ]

    times, values = np.array(list(exact)), np.array(list(exact.values()))
    for time, value in list(means.items())[:-1]:
        inside = (times >= time) & (times < time + 1_000_000)
        before = values[times <= time][-1]
        assert value == max(before, values[inside].max(initial=0))
    assert list(means.values())[-1] == 0
    assert len(means) == 71


def test_a_trace_without_recorded_memory_has_none_on_its_timeline(tmp_path):
    trace = hand_made.write(
        tmp_path, operators=[], calls=[[given(400)]], events=[("launch", 20, 0, [A])]
    )

    assert storages(drawn(trace)) == []
    assert bytes_in_use(drawn(trace)) == {}


def test_chrome_has_the_same_slices_and_counters(tmp_path):
    hand_made.small_program(tmp_path / "out", frees=False)
    load_converter("chrome").convert(resolve(str(tmp_path / "out")), tmp_path / "file", {})

    events = json.loads((tmp_path / "file").read_text())["traceEvents"]

    slices = [event for event in events if event.get("cat") == "memory"]
    assert {event["name"] for event in slices if "name" in event} == {
        name for name, _, _ in storages(drawn(resolve(str(tmp_path / "out")).trace))
    }
    values = [event["args"]["value"] for event in events if event.get("name") == IN_USE]
    assert values == [1000, 3000, 7000, 11_000, 3000, 0, 1000, 0]


@pytest.mark.process
def test_perfettos_engine_reads_the_counter_in_bytes_and_each_storage(tmp_path):
    trace = hand_made.small_program(tmp_path / "out", frees=False)
    load_converter("perfetto").convert(resolve(str(tmp_path / "out")), tmp_path / "file", {})

    with TraceProcessor(tmp_path / "file", tmp_path / "log") as engine:
        assert engine.rows("select name from stats where value > 0 and severity != 'info'") == []
        counter = engine.rows(
            "select t.unit, c.value from counter c join counter_track t on c.track_id = t.id "
            f"where t.name = '{IN_USE}' order by c.ts"
        )
        slices = engine.rows(
            f"select name, ts - {EPOCH}, ts + dur - {EPOCH} from slice where category = 'memory'"
        )
        (size,) = engine.rows(
            "select distinct a.int_value from slice s join args a using (arg_set_id) "
            f"where s.name like '{MUL}%' and a.key = 'debug.bytes'"
        )

    assert {unit for unit, _ in counter} == {"bytes"}
    assert [value for _, value in counter] == [1000, 3000, 7000, 11_000, 3000, 0, 1000, 0]
    assert sorted(slices) == storages(drawn(trace))
    assert size == (4000,)


@pytest.mark.process
def test_the_check_of_a_file_ignores_slices_of_storages(tmp_path):
    hand_made.small_program(tmp_path / "out", frees=False)
    selection = resolve(str(tmp_path / "out"))
    load_converter("perfetto").convert(selection, tmp_path / "file", {})
    (tmp_path / "engine").mkdir()

    result = check_file(tmp_path / "file", selection, str(executable(tmp_path / "engine")))

    assert result.differences == ()
