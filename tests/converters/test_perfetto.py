"""Our encoder against the protobuf builder of the `perfetto` package, byte for byte."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvtrace.converters import perfetto
from kvtrace.converters.captions import Caption
from kvtrace.converters.nesting import lanes
from kvtrace.converters.timeline import Counter, Instants, Slices, Timeline, Track
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import resolve
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from tests.support.synthetic_trace import EPOCH, build_synthetic_trace

PROCESS = Track(("run", "rank 0"), "process", 77, rank=3)
THREAD = Track(("run", "rank 0", "thread 5", "0"), "thread", 77, PROCESS, tid=5)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(st.integers(-(2**63), 2**63 - 1), TEXT)
PAIRS = st.lists(st.tuples(TEXT, VALUES), max_size=4).map(tuple)
FACTS = st.lists(st.tuples(TEXT, st.one_of(VALUES, PAIRS)), max_size=4).map(tuple)
CAPTIONS = st.lists(st.builds(Caption, TEXT, FACTS), min_size=1, max_size=4)


@st.composite
def slices_of_one_track(draw):
    captions = draw(CAPTIONS)
    spans = draw(
        st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20)
    )
    begin = np.array([EPOCH + start for start, _ in spans], np.int64)
    duration = np.array([length for _, length in spans], np.int64)
    keep = lanes(begin, begin + duration) == 0
    count = int(keep.sum())

    def column(values, kind):
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), kind)

    return Slices(
        THREAD,
        draw(st.sampled_from(["launch", "gpu"])),
        begin[keep],
        duration[keep],
        column(st.integers(0, len(captions) - 1), np.int64),
        captions,
        launch=draw(st.none() | st.just(column(st.integers(-1, 2**40), np.int64))),
        flow=draw(st.none() | st.just(column(st.just(0) | st.integers(1, 2**64 - 1), np.uint64))),
    )


class Builder:
    """The plain way: one event after another through the protobuf classes."""

    def __init__(self, sequence):
        self.trace = TraceProtoBuilder()
        self.sequence = sequence
        self.numbers = {"name": {}, "key": {}, "text": {}}

    def number(self, kind, text):
        return self.numbers[kind].setdefault(text, len(self.numbers[kind]) + 1)

    def first_packet(self, track, time, category):
        packet = self.trace.add_packet()
        packet.clock_snapshot.clocks.add(clock_id=6, timestamp=time)
        packet.clock_snapshot.clocks.add(clock_id=64, timestamp=time, is_incremental=True)
        packet.trusted_packet_sequence_id = self.sequence
        packet.sequence_flags = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.trace_packet_defaults.timestamp_clock_id = 64
        packet.trace_packet_defaults.track_event_defaults.track_uuid = track.identity
        packet.interned_data.SetInParent()
        if category is not None:
            packet.interned_data.event_categories.add(iid=1, name=category)
        return packet

    def intern(self, packet):
        data = packet.interned_data
        for text, number in self.numbers["name"].items():
            data.event_names.add(iid=number, name=text.replace("\0", "␀"))
        for text, number in self.numbers["key"].items():
            data.debug_annotation_names.add(iid=number, name=text.replace("\0", "␀"))
        for text, number in self.numbers["text"].items():
            value = text.replace("\0", "␀").encode()
            data.debug_annotation_string_values.add(iid=number, str=value)

    def event(self, time, before, kind):
        packet = self.trace.add_packet()
        packet.timestamp = time - before
        packet.trusted_packet_sequence_id = self.sequence
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.type = kind
        return packet.track_event

    def describe(self, event, caption):
        event.category_iids.append(1)
        event.name_iid = self.number("name", caption.name)
        for key, value in caption.facts:
            self.annotate(event.debug_annotations.add(), key, value)

    def annotate(self, annotation, key, value):
        annotation.name_iid = self.number("key", key)
        if isinstance(value, int):
            annotation.int_value = value
        elif isinstance(value, str):
            annotation.string_value_iid = self.number("text", value)
        else:
            for inner_key, inner_value in value:
                self.annotate(annotation.dict_entries.add(), inner_key, inner_value)


def points_of(slices):
    """Begins and ends one by one: what the stack of a viewer needs, in the simplest way."""
    rows = sorted(range(slices.begin.size), key=lambda r: (slices.begin[r], -slices.end[r]))
    stack, points = [], []
    for row in rows:
        while stack and slices.end[stack[-1]] <= slices.begin[row]:
            closed = stack.pop()
            points.append((int(slices.end[closed]), closed, True))
        stack.append(row)
        points.append((int(slices.begin[row]), row, False))
    while stack:
        closed = stack.pop()
        points.append((int(slices.end[closed]), closed, True))
    return points


def built(slices, sequence):
    builder = Builder(sequence)
    builder.number("key", "launch")
    for index in sorted(set(slices.caption.tolist())):  # strings are numbered caption by caption
        builder.describe(pb.TrackEvent(), slices.captions[index])
    points = points_of(slices)
    before = points[0][0]
    builder.intern(builder.first_packet(slices.track, before, slices.category))
    for time, row, is_end in points:
        kind = pb.TrackEvent.TYPE_SLICE_END if is_end else pb.TrackEvent.TYPE_SLICE_BEGIN
        event = builder.event(time, before, kind)
        before = time
        if is_end:
            continue
        if slices.launch is not None and slices.launch[row] >= 0:
            builder.annotate(event.debug_annotations.add(), "launch", int(slices.launch[row]))
        builder.describe(event, slices.captions[slices.caption[row]])
        if slices.flow is not None and slices.flow[row]:
            event.flow_ids.append(int(slices.flow[row]))
    return builder.trace.serialize()


def without_empty_ties(slices):
    """Whether empty slices share their time with others: then several orders are right."""
    ends = np.concatenate([slices.begin, slices.end[slices.duration > 0]])
    empty = slices.begin[slices.duration == 0]
    return all((ends == time).sum() == 1 for time in empty)


@settings(max_examples=80, deadline=None)
@given(slices_of_one_track(), st.integers(2, 1000))
def test_slices_are_byte_identical_to_the_builder(slices, sequence):
    ours = b"".join(bytes(chunk) for chunk in perfetto.encode_slices(slices, sequence))

    assert without_empty_ties(slices) is False or ours == built(slices, sequence)
    parsed = pb.Trace.FromString(ours)
    assert parsed.SerializeToString() == ours
    assert len(parsed.packet) == 1 + 2 * slices.begin.size


@given(CAPTIONS, st.lists(st.integers(0, 10**9), min_size=1, max_size=9), st.data())
@settings(max_examples=50, deadline=None)
def test_instants_are_byte_identical_to_the_builder(captions, times, data):
    times = np.sort(np.array(times, np.int64)) + EPOCH
    index = [data.draw(st.integers(0, len(captions) - 1)) for _ in times]
    instants = Instants(THREAD, "mark", times, np.array(index, np.int64), captions)

    ours = b"".join(bytes(chunk) for chunk in perfetto.encode_instants(instants, 9))

    builder = Builder(9)
    for used in sorted(set(index)):
        builder.describe(pb.TrackEvent(), captions[used])
    before = int(times[0])
    builder.intern(builder.first_packet(THREAD, before, "mark"))
    for time, used in zip(times.tolist(), index, strict=True):
        event = builder.event(time, before, pb.TrackEvent.TYPE_INSTANT)
        builder.describe(event, captions[used])
        before = time
    assert ours == builder.trace.serialize()


def test_counters_are_byte_identical_to_the_builder():
    track = PROCESS.child("launches", "counter")
    values = np.array([5, 0, 2**40])
    counter = Counter(track, EPOCH + np.array([0, 7, 300]), values)

    ours = b"".join(bytes(chunk) for chunk in perfetto.encode_counter(counter, 4))

    builder = Builder(4)
    builder.first_packet(track, EPOCH, None)
    for delta, value in zip((0, 7, 293), values.tolist(), strict=True):
        builder.event(delta, 0, pb.TrackEvent.TYPE_COUNTER).counter_value = value
    assert ours == builder.trace.serialize()


def test_tracks_say_process_thread_and_parent():
    packets = [
        perfetto.track_packet(track, 1) for track in (PROCESS, THREAD, THREAD.child("marks"))
    ]

    process, thread, marks = (
        packet.track_descriptor for packet in pb.Trace.FromString(b"".join(packets)).packet
    )

    assert (process.process.pid, process.process.process_name) == (77, "rank 0")
    assert (thread.thread.pid, thread.thread.tid) == (77, 5)
    assert thread.parent_uuid == process.uuid
    assert (marks.name, marks.parent_uuid) == ("marks", thread.uuid)


def test_a_run_without_rows_gives_a_file_with_its_process():
    chunks = perfetto.encode_timelines([Timeline(PROCESS)])

    trace = pb.Trace.FromString(b"".join(bytes(chunk) for chunk in chunks))

    assert [p.track_descriptor.process.pid for p in trace.packet[1:]] == [77]


def test_an_unknown_setting_is_refused_before_anything_is_written(tmp_path):
    build_synthetic_trace(tmp_path / "out", runs=1, launches=1)

    with pytest.raises(BadSetting, match="no setting 'speed'"):
        perfetto.CONVERTER.convert(
            resolve(str(tmp_path / "out")), tmp_path / "trace", {"speed": "high"}
        )

    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_same_trace_gives_the_same_bytes(tmp_path):
    build_synthetic_trace(tmp_path / "out", launches=50)
    files = [tmp_path / "one", tmp_path / "two"]

    for file in files:
        perfetto.CONVERTER.convert(resolve(str(tmp_path / "out")), file, {})

    assert files[0].read_bytes() == files[1].read_bytes()
