"""Perfetto trace files, encoded with NumPy straight from the timeline's columns.

Each track has a separate packet sequence. Its first packet clears the state and sets the clock
(deltas from one packet to the next), the track, and the interned strings for all events. Begins and
ends follow in nesting order. The bytes of an event, except time, launch and flow, are encoded once
per caption, so 65,536 events take a handful of NumPy operations.

Field numbers: https://github.com/google/perfetto/tree/main/protos/perfetto/trace (TracePacket,
TrackEvent, TrackDescriptor, InternedData, ClockSnapshot). Without a sequence id, or without the
flag that clears the state, readers drop events silently.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.output import whole_file
from kvtrace.converters.parallel import in_order
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.timeline.captions import Caption, Facts
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.nesting import Points, points_in_pieces
from kvtrace.converters.timeline.packets import (
    BOOTTIME,
    CHUNK,
    CLOCK_SNAPSHOT,
    SEQUENCE,
    Buffer,
    clock,
    first_packet,
    packet,
    packet_pieces,
    without_nul,
)
from kvtrace.converters.timeline.perfetto_stages import encode_stages, queue_of
from kvtrace.converters.timeline.pieces import (
    Constant,
    Lookup,
    PartialRows,
    Piece,
    concatenate_rows,
    used_entries,
)
from kvtrace.converters.timeline.protobuf import (
    Fixed64,
    Varint,
    bytes_field,
    integer_field,
    length_prefixed,
    varint,
)
from kvtrace.converters.timeline.timeline import (
    LAUNCH,
    Counter,
    Integers,
    Slices,
    Tally,
    Timeline,
    Track,
    Unit,
)
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection

# TracePacket
_TRACK_EVENT: Final = 11
_TRACK_DESCRIPTOR: Final = 60
_ATTRIBUTES: Final = 126
# TrackEvent
_CATEGORY: Final = 3
_ANNOTATION: Final = 4
_TYPE: Final = 9
_NAME: Final = 10
_TRACK: Final = 11
_COUNTER_VALUE: Final = 30
_FLOW: Final = 47
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
# DebugAnnotation
_KEY: Final = 1
_INTEGER: Final = 4
_ENTRY: Final = 11
_TEXT: Final = 17
# InternedData
_CATEGORIES: Final = 1
_NAMES: Final = 2
_KEYS: Final = 3
_TEXTS: Final = 29
# Clocks
_REALTIME: Final = 1

# TrackDescriptor
_UUID: Final = 1
_TRACK_NAME: Final = 2
_PROCESS: Final = 3
_THREAD: Final = 4
_PARENT: Final = 5
_COUNTER_TRACK: Final = 8
_CHILD_ORDERING: Final = 11
_RANK: Final = 12
_DESCRIPTION: Final = 14
_PROCESS_ORDERING: Final = 19
_THREAD_ORDERING: Final = 20
_EXPLICIT: Final = 3
# ProcessDescriptor, ThreadDescriptor
_PID: Final = 1
_COMMAND: Final = 2
_TID: Final = 2
_SORT_INDEX: Final = 3
_THREAD_NAME: Final = 5
_PROCESS_NAME: Final = 6
# CounterDescriptor
_UNIT: Final = 3
_COUNT, _SIZE = 2, 3
_UNIT_NAME: Final = 6
# TraceAttributes
_ATTRIBUTE: Final = 1
_ATTRIBUTE_KEY: Final = 1
_ATTRIBUTE_TEXT: Final = 3


class PerfettoConverter:
    """Converter to a file for ui.perfetto.dev and trace_processor."""

    summary = "Timeline for ui.perfetto.dev and trace_processor (protobuf)"
    default_output = "trace.perfetto-trace"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the timelines of the selected runs.

        With the setting `compute=1` executions are GPU render stages, which ui.perfetto.dev shows
        on its pages of GPUs, instead of slices of tracks.
        """
        reject_unknown_settings("perfetto", settings, ("compute",))
        compute = settings.get("compute", "0")
        if compute not in ("0", "1"):
            raise BadSetting(
                f"the setting compute of the converter perfetto must be 0 or 1, not {compute!r}"
            )
        tally = Tally()
        with whole_file(output) as file:
            for chunk in encode_timelines(timelines(selection), tally, compute=compute == "1"):
                file.write(chunk)
        return Conversion((output,), tally.sentences())


CONVERTER: Final = PerfettoConverter()


def encode_timelines(
    built: Iterable[Timeline], tally: Tally | None = None, *, compute: bool = False
) -> Iterator[Buffer]:
    """Yield timelines encoded as a trace, in chunks of packets, and count rows in `tally`.

    With `compute`, device executions are GPU render stages instead of slices of tracks.
    """
    sequence = 0
    gpus: dict[Track, int] = {}
    for timeline in built:
        sequence += 1
        if sequence == 1:
            yield _wall_clock_packet(timeline.first or 0)
            yield _order_packet()
        if timeline.facts:
            yield _attributes_packet(timeline, sequence)
        staged = [part for part in timeline.slices if compute and part.category == "gpu"]
        drawn = replace(
            timeline,
            slices=[part for part in timeline.slices if not compute or part.category != "gpu"],
        )
        for track in drawn.tracks:
            yield track_packet(track, sequence)
        for part in drawn.parts:
            sequence += 1
            yield from _encode_part(part, sequence)
        for executions in staged:
            sequence += 1
            yield from encode_stages(executions, queue_of(executions.track, gpus), sequence)
        if tally is not None:
            tally.add(timeline)


def _encode_part(part: Slices | Counter, sequence: int) -> Iterator[Buffer]:
    if isinstance(part, Counter):
        return encode_counter(part, sequence)
    return encode_instants(part, sequence) if part.are_instants else encode_slices(part, sequence)


def encode_slices(slices: Slices, sequence: int) -> Iterator[Buffer]:
    """Yield the slices of one track encoded as a packet sequence; nothing without slices."""
    if not slices.begin.size:
        return
    strings = _InternedStrings()
    launch_key = strings.keys.number(LAUNCH)  # must precede the first packet, which has all strings
    table, entry_of_caption = used_entries(
        slices.captions, slices.caption, partial(_event, _BEGIN, strings)
    )
    start = int(slices.begin.min())
    yield _first_packet(sequence, slices.track, start, strings, slices.category)
    category = Constant(integer_field(_CATEGORY, 1))
    end: list[Piece] = [Constant(integer_field(_TYPE, _END))]

    def packets(points: Points, before: int) -> Buffer:
        """Return the packets of a chunk of points; `before` is the time of the point before it."""
        deltas = np.diff(points.times, prepend=before)
        begin_points, end_points = np.flatnonzero(~points.ends), np.flatnonzero(points.ends)
        rows = points.rows[begin_points]
        begin: list[Piece] = [category]
        if slices.launch is not None:
            begin.append(_launch_piece(slices.launch[rows], launch_key))
        begin.append(Lookup(table, entry_of_caption[slices.caption[rows]]))
        if slices.flow is not None:
            begin.append(_flow_piece(slices.flow[rows]))
        count = points.ends.size
        pieces = [
            PartialRows(at, packet_pieces(_TRACK_EVENT, deltas[at], sequence, event), count)
            for at, event in ((begin_points, begin), (end_points, end))
        ]
        return concatenate_rows(pieces, count).data

    yield from in_order(partial(packets, *chunk) for chunk in _point_chunks(slices))


def _point_chunks(slices: Slices) -> Iterator[tuple[Points, int]]:
    """Yield chunks of begins and ends in nesting order, each with the previous point's time."""
    previous_time = int(slices.begin.min())
    for points in points_in_pieces(slices.begin, slices.duration):
        for first in range(0, points.times.size, CHUNK):
            part = slice(first, first + CHUNK)
            chunk = Points(points.times[part], points.rows[part], points.ends[part])
            yield chunk, previous_time
            previous_time = int(chunk.times[-1])


def encode_instants(instants: Slices, sequence: int) -> Iterator[Buffer]:
    """Yield the instants of one track encoded as a packet sequence."""
    strings = _InternedStrings()
    table, entry_of_caption = used_entries(
        instants.captions, instants.caption, partial(_event, _INSTANT, strings)
    )
    start = int(instants.begin[0])
    yield _first_packet(sequence, instants.track, start, strings, instants.category)
    event: list[Piece] = [
        Constant(integer_field(_CATEGORY, 1)),
        Lookup(table, entry_of_caption[instants.caption]),
    ]
    yield _packets(instants.begin, sequence, event)


def encode_counter(counter: Counter, sequence: int) -> Iterator[Buffer]:
    """Yield the values of one counter track encoded as a packet sequence."""
    start = int(counter.time[0])
    yield _first_packet(sequence, counter.track, start, _InternedStrings(), None)
    tag = integer_field(_TYPE, _COUNTER) + varint(_COUNTER_VALUE << 3)
    yield _packets(counter.time, sequence, [Constant(tag), Varint(counter.value)])


def track_packet(track: Track, sequence: int) -> bytes:
    """Return the packet that describes a track.

    The UI orders tracks by rank, but those below a process by name, so devices have no parent.
    """
    content = integer_field(_UUID, track.identity)
    if track.kind not in ("process", "thread"):
        content += bytes_field(_TRACK_NAME, track.name)
    if track.kind == "process":
        content += bytes_field(_PROCESS, _process(track))
    if track.kind == "thread" and track.tid is not None:
        content += bytes_field(_THREAD, _thread(track))
    if track.parent is not None:
        content += integer_field(_PARENT, track.parent.identity)
    if track.kind == "counter":
        content += bytes_field(_COUNTER_TRACK, _counter_unit(track.unit))
    content += integer_field(_CHILD_ORDERING, _EXPLICIT)
    if track.rank:
        content += integer_field(_RANK, track.rank)
    if track.about is not None:
        content += bytes_field(_DESCRIPTION, track.about)
    return packet(integer_field(SEQUENCE, sequence) + bytes_field(_TRACK_DESCRIPTOR, content))


def _process(track: Track) -> bytes:
    content = integer_field(_PID, track.pid)
    content += b"" if track.about is None else bytes_field(_COMMAND, track.about)
    return content + integer_field(_SORT_INDEX, track.rank) + bytes_field(_PROCESS_NAME, track.name)


def _thread(track: Track) -> bytes:
    content = integer_field(_PID, track.pid) + integer_field(_TID, track.tid or 0)
    return content + integer_field(_SORT_INDEX, track.rank) + bytes_field(_THREAD_NAME, track.name)


def _counter_unit(unit: Unit) -> bytes:
    if unit in ("count", "B"):
        return integer_field(_UNIT, _COUNT if unit == "count" else _SIZE)
    return bytes_field(_UNIT_NAME, unit)


def _order_packet() -> bytes:
    """Return the packet by which engines from 0.57 on order processes and threads by rank."""
    content = integer_field(_UUID, 0)
    content += integer_field(_PROCESS_ORDERING, 1) + integer_field(_THREAD_ORDERING, 1)
    return packet(integer_field(SEQUENCE, 1) + bytes_field(_TRACK_DESCRIPTOR, content))


def _attributes_packet(timeline: Timeline, sequence: int) -> bytes:
    """Return the packet with a run's facts as trace attributes, named by run id and fact."""
    run = timeline.process.path[0]
    attributes = b"".join(
        bytes_field(
            _ATTRIBUTE,
            bytes_field(_ATTRIBUTE_KEY, f"kvtrace {run} {name}")
            + bytes_field(_ATTRIBUTE_TEXT, without_nul(value)),
        )
        for name, value in timeline.facts.items()
    )
    return packet(integer_field(SEQUENCE, sequence) + bytes_field(_ATTRIBUTES, attributes))


def _packets(times: Integers, sequence: int, event: Sequence[Piece]) -> Buffer:
    """Return one packet per row; times are sorted, and the first is the sequence's start."""
    deltas = np.diff(times, prepend=times[0])
    return concatenate_rows(packet_pieces(_TRACK_EVENT, deltas, sequence, event), times.size).data


def _launch_piece(launch: Integers, key: int) -> Piece:
    """Return the piece with the launch's number as an annotation, in rows with a known launch."""
    known = np.flatnonzero(launch >= 0)
    key_field = integer_field(_KEY, key) + varint(_INTEGER << 3)
    numbers: list[Piece] = [Constant(key_field), Varint(launch[known])]
    tag = varint(_ANNOTATION << 3 | 2)
    return PartialRows(known, length_prefixed(tag, numbers, known.size), launch.size)


def _flow_piece(flow: npt.NDArray[np.uint64]) -> Piece:
    """Return the piece with the flow's number, in rows whose number is not 0."""
    known = np.flatnonzero(flow)
    return PartialRows(known, [Constant(varint(_FLOW << 3 | 1)), Fixed64(flow[known])], flow.size)


class _NumberedTexts:
    """Distinct strings, numbered from 1 in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    def encoded(self, field: int) -> bytes:
        return b"".join(
            bytes_field(field, integer_field(1, number) + bytes_field(2, without_nul(text)))
            for text, number in self._numbers.items()
        )


class _InternedStrings:
    """Interned strings of one sequence, which events refer to by number."""

    def __init__(self) -> None:
        self.names = _NumberedTexts()
        self.keys = _NumberedTexts()
        self.texts = _NumberedTexts()

    def encoded(self, category: str | None) -> bytes:
        categories = _NumberedTexts()
        if category is not None:
            categories.number(category)
        return (
            categories.encoded(_CATEGORIES)
            + self.names.encoded(_NAMES)
            + self.keys.encoded(_KEYS)
            + self.texts.encoded(_TEXTS)
        )


def _event(kind: int, strings: _InternedStrings, caption: Caption) -> bytes:
    """Return the bytes of events with a caption, whose strings are added to `strings`."""
    annotations = b"".join(
        bytes_field(_ANNOTATION, annotation) for annotation in _annotations(caption.facts, strings)
    )
    name = integer_field(_NAME, strings.names.number(caption.name))
    return annotations + integer_field(_TYPE, kind) + name


def _annotations(facts: Facts, strings: _InternedStrings) -> Iterator[bytes]:
    for key, value in facts:
        content = integer_field(_KEY, strings.keys.number(key))
        if isinstance(value, int):
            content += integer_field(_INTEGER, value)
        elif isinstance(value, str):
            content += integer_field(_TEXT, strings.texts.number(value))
        else:
            entries = _annotations(value, strings)
            content += b"".join(bytes_field(_ENTRY, entry) for entry in entries)
        yield content


def _first_packet(
    sequence: int, track: Track, start: int, strings: _InternedStrings, category: str | None
) -> bytes:
    """Return the packet that clears a sequence's state and sets clock, track and strings."""
    defaults = bytes_field(_TRACK_EVENT, integer_field(_TRACK, track.identity))
    return first_packet(sequence, start, strings.encoded(category), defaults)


def _wall_clock_packet(start: int) -> bytes:
    """Return the packet that relates the trace's clock to the realtime clock, for dates."""
    content = clock(BOOTTIME, start) + clock(_REALTIME, start)
    return packet(bytes_field(CLOCK_SNAPSHOT, content) + integer_field(SEQUENCE, 1))
