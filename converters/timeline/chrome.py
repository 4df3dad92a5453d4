"""Chrome trace files: the JSON that chrome://tracing, Perfetto and many other viewers read.

Times are µs with three decimals since the earliest event: µs since 1970 would not fit the 53 bits
of a JSON number. `baseTimeNanoseconds` has the time of that event, as in PyTorch's files. The
format has processes and threads only, so every other track becomes a thread with a free number.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.timeline.captions import Caption, Facts
from kvtrace.converters.timeline.clocks import clock_offsets
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.nesting import stretches
from kvtrace.converters.timeline.pieces import (
    ByteTable,
    Constant,
    Decimal,
    Lookup,
    Piece,
    Some,
    concatenate_rows,
)
from kvtrace.converters.timeline.timeline import (
    LAUNCH,
    Counter,
    Instants,
    Slices,
    Tally,
    Timeline,
    Track,
)
from kvtrace.schema.trace import Selection

Integers = npt.NDArray[np.int64]
Buffer = bytes | memoryview

_CHUNK: Final = 1 << 16
#: Thread numbers that no system assigns (Linux ends at 2^22), for tracks that are not threads.
_FIRST_FREE_TID: Final = 1 << 22
_LARGEST_TID: Final = (1 << 31) - 1
#: A flow's number: the run's position above these bits, the launch's number below; under 2^53.
_LAUNCH_BITS: Final = 40
_FRACTIONS: Final = ByteTable([f".{nanoseconds:03}".encode() for nanoseconds in range(1_000)])
_TIMES: Final = (
    ("launches", "enter"),
    ("gpu_kernels", "start"),
    ("marks", "begin"),
    ("kernels", "compile_begin"),
    ("kernels", "load_begin"),
    ("messages", "time"),
)


class ChromeConverter:
    """Writes a trace for chrome://tracing and other readers of its JSON."""

    summary = "Timeline as Chrome trace JSON"
    default_output = "trace.json"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the timeline of the selected runs; there are no settings."""
        reject_unknown_settings("chrome", settings, ())
        tally = Tally()
        with whole_file(output) as file:
            for chunk in encode_timelines(timelines(selection), earliest(selection), tally):
                file.write(chunk)
        return Conversion((output,), tally.sentences())


CONVERTER: Final = ChromeConverter()


def earliest(selection: Selection) -> int:
    """Return the earliest time (ns since 1970) on the selected runs' timelines, or 0 if none."""
    offsets = clock_offsets(selection.trace, selection.runs)
    firsts = []
    for run in selection.runs:
        offset = offsets[run.run_id].ns if run.run_id in offsets else 0
        for table, column in _TIMES:
            first = pc.min(selection.trace.table(table, [run], [column])[column])
            if first.is_valid:
                firsts.append(first.value + offset)
    return min(firsts, default=0)


def encode_timelines(
    built: Iterable[Timeline], base: int, tally: Tally | None = None
) -> Iterator[Buffer]:
    """Encode timelines as one JSON object, a chunk at a time; times count from `base` (ns)."""
    head = {"displayTimeUnit": "ns", "baseTimeNanoseconds": base}
    yield (_json(head)[:-1] + ',"traceEvents":[\n').encode()
    separator = b""
    for number, timeline in enumerate(built):
        for chunk in _encode_timeline(timeline, base, number):
            # Every event ends with a comma and a new line, except the last of the file.
            yield separator
            yield chunk[:-2]
            separator = b",\n"
        if tally is not None:
            tally.add(timeline)
    yield b"\n]}\n"


def _encode_timeline(timeline: Timeline, base: int, number: int) -> Iterator[Buffer]:
    tids = thread_numbers(timeline.tracks)
    yield b"".join(_metadata(track, tids) for track in timeline.tracks)
    for part in timeline.parts:
        thread = f'"pid":{part.track.pid},"tid":{tids.get(part.track, 0)}'
        if isinstance(part, Slices):
            yield from encode_slices(part, thread, base, number)
        elif isinstance(part, Instants):
            yield encode_instants(part, thread, base)
        else:
            yield encode_counter(part, thread, base)


def thread_numbers(tracks: Sequence[Track]) -> dict[Track, int]:
    """Return a thread number for each track: threads have their tid, all others a free number."""
    numbers: dict[Track, int] = {}
    free = _FIRST_FREE_TID
    for track in tracks:
        if track.kind in ("process", "counter"):
            continue
        if track.kind == "thread" and track.tid is not None and 0 < track.tid <= _LARGEST_TID:
            numbers[track] = track.tid
            continue
        while free in numbers.values():
            free += 1
        numbers[track] = free
        free += 1
    return numbers


def encode_slices(slices: Slices, thread: str, base: int, run: int) -> Iterator[Buffer]:
    """Encode slices as complete events, ordered by begin, with flows as `bind_id`.

    Args:
        slices: the slices of one track.
        thread: the track's pid and tid, as members of a JSON object.
        base: the time that events count from, in ns since 1970.
        run: the run's position among the timelines, for the numbers of flows.

    """
    comma = "," if slices.launch is not None else ""
    table, entry = _caption_table(slices.captions, slices.caption, slices.category, comma)
    head = f'{{"ph":"X",{thread},"ts":'.encode()
    for rows in _chunks(slices):
        event: list[Piece] = [
            Constant(head),
            *_microseconds(slices.begin[rows] - base),
            Constant(b',"dur":'),
            *_microseconds(slices.duration[rows]),
        ]
        if slices.flow is not None and slices.launch is not None:
            linked = np.flatnonzero(slices.flow[rows])
            flow = slices.launch[rows[linked]].astype(np.int64) + (run << _LAUNCH_BITS)
            event.append(_flow(linked, flow, slices.category, rows.size))
        event.append(Constant(b',"args":{'))
        if slices.launch is not None:
            event += _launch(slices.launch[rows])
        event.append(Lookup(table, entry[slices.caption[rows]]))
        yield concatenate_rows(event, rows.size).data


def _chunks(slices: Slices) -> Iterator[Integers]:
    """Yield indices of the slices, ordered by begin, up to 65,536 at a time."""
    for rows in stretches(slices.begin, slices.duration):
        for first in range(0, rows.size, _CHUNK):
            yield rows[first : first + _CHUNK]


def encode_instants(instants: Instants, thread: str, base: int) -> Buffer:
    """Encode instants as instant events; arguments as `encode_slices`."""
    table, entry = _caption_table(instants.captions, instants.caption, instants.category)
    event: list[Piece] = [
        Constant(f'{{"ph":"i","s":"t",{thread},"ts":'.encode()),
        *_microseconds(instants.time - base),
        Constant(b',"args":{'),
        Lookup(table, entry[instants.caption]),
    ]
    return concatenate_rows(event, instants.time.size).data


def encode_counter(counter: Counter, thread: str, base: int) -> Buffer:
    """Encode a counter's values as counter events, which viewers join by name and process."""
    parent = counter.track.parent
    name = _json((_title_prefix(parent) if parent else "") + counter.track.name)
    event: list[Piece] = [
        Constant(f'{{"ph":"C",{thread},"name":{name},"ts":'.encode()),
        *_microseconds(counter.time - base),
        Constant(b',"args":{"value":'),
        Decimal(counter.value),
        Constant(b"}},\n"),
    ]
    return concatenate_rows(event, counter.time.size).data


def _microseconds(nanoseconds: Integers) -> list[Piece]:
    nanoseconds = nanoseconds.astype(np.int64, copy=False)  # columns may be of a narrower type
    whole = nanoseconds // 1_000
    return [Decimal(whole), Lookup(_FRACTIONS, nanoseconds - whole * 1_000)]


def _flow(rows: Integers, flow: Integers, category: str, count: int) -> Piece:
    direction = "flow_in" if category == "gpu" else "flow_out"
    start = Constant(f',"{direction}":true,"bind_id":"'.encode())
    return Some(rows, [start, Decimal(flow), Constant(b'"')], count)


def _launch(launch: Integers) -> list[Piece]:
    known, unknown = np.flatnonzero(launch >= 0), np.flatnonzero(launch < 0)
    return [
        Constant(f'"{LAUNCH}":'.encode()),
        Some(known, [Decimal(launch[known])], launch.size),
        Some(unknown, [Constant(b"null")], launch.size),
    ]


def _caption_table(
    captions: Sequence[Caption], caption: Integers, category: str, comma: str = ""
) -> tuple[ByteTable, Integers]:
    """Encode each used caption as the end of an event.

    Returns the table of encoded captions, and for each caption the index of its entry in the table.
    """
    used = np.bincount(caption, minlength=len(captions)) > 0
    entries = [_event_end(captions[index], category, comma) for index in np.flatnonzero(used)]
    return ByteTable(entries), np.cumsum(used, dtype=np.int64) - 1


def _event_end(caption: Caption, category: str, comma: str) -> bytes:
    """Encode the facts, category and name; `comma` separates the facts from earlier arguments."""
    facts = _json(_as_object(caption.facts))[1:]
    start = comma + facts if caption.facts else facts
    return f'{start},"cat":"{category}","name":{_json(caption.name)}}},\n'.encode()


def _as_object(facts: Facts) -> dict[str, Any]:
    return {key: _as_object(value) if isinstance(value, tuple) else value for key, value in facts}


def _metadata(track: Track, tids: Mapping[Track, int]) -> bytes:
    if track.kind == "counter":
        return b""
    if track.kind == "process":
        where: dict[str, Any] = {"ph": "M", "pid": track.pid, "tid": 0}
        name, order = "process_name", "process_sort_index"
        title = track.name
    else:
        where = {"ph": "M", "pid": track.pid, "tid": tids[track]}
        name, order = "thread_name", "thread_sort_index"
        parent = track.parent
        title = track.name if parent is None else _title_prefix(parent) + track.name
    sort = track.rank if track.kind == "process" else list(tids).index(track)
    events = (
        {**where, "name": name, "args": {"name": title}},
        {**where, "name": order, "args": {"sort_index": sort}},
    )
    return "".join(_json(event) + ",\n" for event in events).encode()


def _title_prefix(parent: Track) -> str:
    """Return the parent's name as the start of a track's title; empty if it is a process."""
    if parent.kind == "process":
        return ""
    return f"{parent.name} {parent.tid} · " if parent.kind == "thread" else f"{parent.name} · "


def _json(value: object) -> str:
    """Write JSON without spaces; NUL as its symbol, since readers in C++ end a string there."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\\u0000", "␀")
