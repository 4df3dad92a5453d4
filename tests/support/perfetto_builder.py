"""Slices as a Perfetto trace in the plain way: one event after another through protobuf classes.

The reference for our encoder, in its tests and in its benchmark: the bytes must be the same.
"""

from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.timeline import Slices, Track


class Builder:
    """A packet sequence that grows event by event, with its interned strings."""

    def __init__(self, sequence: int) -> None:
        self.trace = TraceProtoBuilder()
        self.sequence = sequence
        self.numbers: dict[str, dict[str, int]] = {"name": {}, "key": {}, "text": {}}

    def number(self, kind: str, text: str) -> int:
        return self.numbers[kind].setdefault(text, len(self.numbers[kind]) + 1)

    def first_packet(self, track: Track, time: int, category: str | None) -> Any:
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

    def intern(self, packet: Any) -> None:
        data = packet.interned_data
        for text, number in self.numbers["name"].items():
            data.event_names.add(iid=number, name=text.replace("\0", "␀"))
        for text, number in self.numbers["key"].items():
            data.debug_annotation_names.add(iid=number, name=text.replace("\0", "␀"))
        for text, number in self.numbers["text"].items():
            value = text.replace("\0", "␀").encode()
            data.debug_annotation_string_values.add(iid=number, str=value)

    def event(self, time: int, before: int, kind: int) -> Any:
        packet = self.trace.add_packet()
        packet.timestamp = time - before
        packet.trusted_packet_sequence_id = self.sequence
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.type = kind
        return packet.track_event

    def describe(self, event: Any, caption: Caption) -> None:
        event.category_iids.append(1)
        event.name_iid = self.number("name", caption.name)
        for key, value in caption.facts:
            self.annotate(event.debug_annotations.add(), key, value)

    def annotate(self, annotation: Any, key: str, value: Any) -> None:
        annotation.name_iid = self.number("key", key)
        if isinstance(value, int):
            annotation.int_value = value
        elif isinstance(value, str):
            annotation.string_value_iid = self.number("text", value)
        else:
            for inner_key, inner_value in value:
                self.annotate(annotation.dict_entries.add(), inner_key, inner_value)


def points_of(slices: Slices) -> list[tuple[int, int, bool]]:
    """Begins and ends one by one: what the stack of a viewer needs, in the simplest way."""
    rows = sorted(range(slices.begin.size), key=lambda r: (slices.begin[r], -slices.end[r]))
    stack: list[int] = []
    points: list[tuple[int, int, bool]] = []
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


def built(slices: Slices, sequence: int) -> bytes:
    """The slices of one track as a packet sequence."""
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
    content: bytes = builder.trace.serialize()
    return content
