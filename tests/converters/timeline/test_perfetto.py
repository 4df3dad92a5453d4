"""Our encoder against the protobuf builder of the `perfetto` package, byte for byte."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kvtrace.converters.timeline import packets, perfetto
from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.nesting import lanes
from kvtrace.converters.timeline.timeline import Counter, Slices, Timeline, Track
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import resolve
from tests.support.perfetto_builder import Builder, built
from tests.support.replacing import replace
from tests.support.synthetic_trace import EPOCH, build_synthetic_trace
from tests.support.thorough import usually

PROCESS = Track(("run", "rank 0"), "process", 77, rank=3)
THREAD = Track(("run", "rank 0", "thread 5", "0"), "thread", 77, PROCESS, tid=5)

TIMES = st.integers(0, 10) | st.integers(0, 10**6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(st.integers(-(2**63), 2**63 - 1), TEXT)
PAIRS = st.lists(st.tuples(TEXT, VALUES), max_size=4).map(tuple)
FACTS = st.lists(st.tuples(TEXT, st.one_of(VALUES, PAIRS)), max_size=4).map(tuple)
CAPTIONS = st.lists(st.builds(Caption, TEXT, FACTS), min_size=1, max_size=4)


@st.composite
def slices_of_one_track(draw):
    captions = draw(CAPTIONS)
    spans = draw(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=20))
    begin = np.array([EPOCH + start for start, _ in spans], np.int64)
    duration = np.array([length for _, length in spans], np.int64)
    lane = lanes(begin, duration)
    keep = np.ones(begin.size, np.bool_) if lane is None else lane == 0
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


@pytest.mark.costly("random slices; another of the file stays by day")
@settings(max_examples=usually(20, thorough=80), deadline=None)
@given(slices_of_one_track(), st.integers(2, 1000))
def test_slices_are_byte_identical_to_the_builder(slices, sequence):
    ours = b"".join(bytes(chunk) for chunk in perfetto.encode_slices(slices, sequence))

    assert ours == built(slices, sequence)
    parsed = pb.Trace.FromString(ours)
    assert parsed.SerializeToString() == ours
    assert len(parsed.packet) == 1 + 2 * slices.begin.size


@given(CAPTIONS, st.lists(st.integers(0, 10**9), min_size=1, max_size=9), st.data())
@settings(max_examples=usually(12, thorough=50), deadline=None)
def test_instants_are_byte_identical_to_the_builder(captions, times, data):
    times = np.sort(np.array(times, np.int64)) + EPOCH
    index = [data.draw(st.integers(0, len(captions) - 1)) for _ in times]
    columns = times, np.zeros_like(times), np.array(index, np.int64)
    instants = Slices(THREAD, "mark", *columns, captions, are_instants=True)

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


def test_a_process_says_its_command_and_its_place():
    track = replace(PROCESS, about="python train.py --layers 4")

    (packet,) = pb.Trace.FromString(perfetto.track_packet(track, 1)).packet

    process = packet.track_descriptor
    assert process.process.cmdline == ["python train.py --layers 4"]
    assert process.description == "python train.py --layers 4"
    assert (process.sibling_order_rank, process.process.legacy_sort_index) == (3, 3)


def test_a_device_orders_what_is_below_it():
    device = Track(("run", "rank 0", "GPU 0", "0"), "lane", 77, about="NVIDIA H200")
    tracks = (device, device.child("stream 7", rank=2), device.counter("FLOPs", "FLOP/s", -1))
    packets = [perfetto.track_packet(track, 1) for track in tracks]

    trace = pb.Trace.FromString(b"".join(packets))

    gpu, stream, rate = (packet.track_descriptor for packet in trace.packet)
    assert (gpu.name, gpu.description, gpu.parent_uuid) == ("GPU 0", "NVIDIA H200", 0)
    assert gpu.child_ordering == pb.TrackDescriptor.EXPLICIT
    assert (stream.parent_uuid, stream.sibling_order_rank) == (gpu.uuid, 2)
    assert (rate.sibling_order_rank, rate.counter.unit_name) == (-1, "FLOP/s")


def test_facts_of_a_run_are_trace_attributes():
    timeline = Timeline(PROCESS, facts={"command": "python train.py", "device 0": "NVIDIA H200"})

    trace = pb.Trace.FromString(b"".join(map(bytes, perfetto.encode_timelines([timeline]))))

    found = [a for packet in trace.packet for a in packet.trace_attributes.attribute]
    assert [(each.key, each.string_value) for each in found] == [
        ("kvtrace run command", "python train.py"),
        ("kvtrace run device 0", "NVIDIA H200"),
    ]


#: What the encoder's constants are in Perfetto's own definitions; enums' values after a colon.
FIELDS = {
    "PACKET": "Trace.packet", "CLOCK_SNAPSHOT": "TracePacket.clock_snapshot",
    "TIMESTAMP": "TracePacket.timestamp", "SEQUENCE": "TracePacket.trusted_packet_sequence_id",
    "TRACK_EVENT": "TracePacket.track_event", "INTERNED_DATA": "TracePacket.interned_data",
    "FLAGS": "TracePacket.sequence_flags", "DEFAULTS": "TracePacket.trace_packet_defaults",
    "TRACK_DESCRIPTOR": "TracePacket.track_descriptor",
    "ATTRIBUTES": "TracePacket.trace_attributes",
    "STATE_CLEARED": "TracePacket:SEQ_INCREMENTAL_STATE_CLEARED",
    "NEEDS_STATE": "TracePacket:SEQ_NEEDS_INCREMENTAL_STATE",
    "CATEGORY": "TrackEvent.category_iids", "ANNOTATION": "TrackEvent.debug_annotations",
    "TYPE": "TrackEvent.type", "NAME": "TrackEvent.name_iid", "TRACK": "TrackEvent.track_uuid",
    "COUNTER_VALUE": "TrackEvent.counter_value", "FLOW": "TrackEvent.flow_ids",
    "BEGIN": "TrackEvent:TYPE_SLICE_BEGIN", "END": "TrackEvent:TYPE_SLICE_END",
    "INSTANT": "TrackEvent:TYPE_INSTANT", "COUNTER": "TrackEvent:TYPE_COUNTER",
    "KEY": "DebugAnnotation.name_iid", "INTEGER": "DebugAnnotation.int_value",
    "ENTRY": "DebugAnnotation.dict_entries", "TEXT": "DebugAnnotation.string_value_iid",
    "CATEGORIES": "InternedData.event_categories", "NAMES": "InternedData.event_names",
    "KEYS": "InternedData.debug_annotation_names",
    "TEXTS": "InternedData.debug_annotation_string_values",
    "REALTIME": "BUILTIN_CLOCK_REALTIME", "BOOTTIME": "BUILTIN_CLOCK_BOOTTIME",
    "CLOCK_ID": "TracePacket.timestamp_clock_id",
    "UUID": "TrackDescriptor.uuid", "TRACK_NAME": "TrackDescriptor.name",
    "PROCESS": "TrackDescriptor.process", "THREAD": "TrackDescriptor.thread",
    "PARENT": "TrackDescriptor.parent_uuid", "COUNTER_TRACK": "TrackDescriptor.counter",
    "CHILD_ORDERING": "TrackDescriptor.child_ordering",
    "RANK": "TrackDescriptor.sibling_order_rank", "DESCRIPTION": "TrackDescriptor.description",
    "PROCESS_ORDERING": "TrackDescriptor.process_ordering",
    "THREAD_ORDERING": "TrackDescriptor.thread_ordering",
    "EXPLICIT": "TrackDescriptor:EXPLICIT",
    "PID": "ProcessDescriptor.pid", "COMMAND": "ProcessDescriptor.cmdline",
    "TID": "ThreadDescriptor.tid", "SORT_INDEX": "ProcessDescriptor.legacy_sort_index",
    "THREAD_NAME": "ThreadDescriptor.thread_name",
    "PROCESS_NAME": "ProcessDescriptor.process_name",
    "UNIT": "CounterDescriptor.unit", "UNIT_NAME": "CounterDescriptor.unit_name",
    "COUNT": "CounterDescriptor:UNIT_COUNT", "SIZE": "CounterDescriptor:UNIT_SIZE_BYTES",
    "ATTRIBUTE": "TraceAttributes.attribute", "ATTRIBUTE_KEY": "TraceAttributes.Attribute.key",
    "ATTRIBUTE_TEXT": "TraceAttributes.Attribute.string_value",
}  # fmt: skip
#: Numbers of our own: rows at once, and the first clock that a sequence may define for itself.
OUR_OWN = {"CHUNK", "DELTAS"}


def defined(place: str) -> int:
    """What Perfetto's definitions say a field's number, or an enum's value, is."""
    if place.startswith("BUILTIN_CLOCK"):
        return int(pb.BuiltinClock.Value(place))
    if ":" in place:
        message, value = place.split(":")
        return int(getattr(getattr(pb, message), value))
    *messages, field = place.split(".")
    message = functools.reduce(getattr, messages, pb)
    return int(message.DESCRIPTOR.fields_by_name[field].number)


def test_field_numbers_of_the_encoder_equal_those_of_perfetto():
    used = {
        name.lstrip("_"): value
        for module in (packets, perfetto)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int)
    }

    assert set(used) - OUR_OWN == set(FIELDS)
    assert {name: used[name] for name in FIELDS} == {n: defined(p) for n, p in FIELDS.items()}


@pytest.mark.parametrize("message", ["ThreadDescriptor", "ProcessDescriptor"])
def test_thread_and_process_descriptors_share_field_numbers(message):
    fields = getattr(pb, message).DESCRIPTOR.fields_by_name

    assert fields["pid"].number == perfetto._PID
    assert fields["legacy_sort_index"].number == perfetto._SORT_INDEX


def test_a_run_without_rows_gives_a_file_with_its_process():
    chunks = perfetto.encode_timelines([Timeline(PROCESS)])

    trace = pb.Trace.FromString(b"".join(bytes(chunk) for chunk in chunks))

    order, process = (packet.track_descriptor for packet in trace.packet[1:])
    assert (order.uuid, order.process_ordering, order.thread_ordering) == (0, 1, 1)
    assert process.process.pid == 77


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
