"""Chrome trace files: the JSON that chrome://tracing, Perfetto and many other viewers read.

Times are µs with three decimals since the earliest event, since µs since 1970 would exceed the 53
bits of a JSON number. `baseTimeNanoseconds` is the time of that event, as in PyTorch's files. The
format has only processes and threads, so other tracks become threads with unused numbers.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.timeline.captions import Caption, Facts
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.nesting import independent_rows
from kvtrace.converters.timeline.pieces import (
    ByteTable,
    Constant,
    Decimal,
    Lookup,
    PartialRows,
    Piece,
    concatenate_rows,
    used_entries,
)
from kvtrace.converters.timeline.timeline import (
    LAUNCH,
    Counter,
    Integers,
    Slices,
    Tally,
    Timeline,
    Track,
)
from kvtrace.figures.clocks import host_clocks
from kvtrace.schema.trace import Selection

Buffer = bytes | memoryview

_CHUNK: Final = 1 << 16
#: Thread numbers that no system assigns (Linux ends at 2^22), for tracks that are not threads.
_FIRST_FREE_TID: Final = 1 << 22
#: Perfetto takes ids of 2^32 and more for the process's (findings/perfetto_json_numbers.sh).
_LARGEST_TID: Final = (1 << 31) - 1
#: A flow's number has the run's index above these bits and the launch's number below (under 2^53).
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
    """Converter to a JSON file for chrome://tracing and other viewers of that format."""

    summary = "Timeline as Chrome trace JSON"
    default_output = "trace.json"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the timelines of the selected runs; there are no settings."""
        reject_unknown_settings("chrome", settings, ())
        tally = Tally()
        with whole_file(output) as file:
            for chunk in encode_timelines(timelines(selection), earliest(selection), tally):
                file.write(chunk)
        return Conversion((output,), tally.sentences())


CONVERTER: Final = ChromeConverter()


def earliest(selection: Selection) -> int:
    """Return the earliest time on the selected runs' timelines, in ns since 1970; 0 without any."""
    clocks = host_clocks(selection.trace, selection.runs)
    first_times = []
    for run in selection.runs:
        for table, column in _TIMES:
            first = pc.min(selection.trace.table(table, [run], [column])[column])
            if first.is_valid:
                time = np.array([first.value])
                clock = clocks.get(run.run_id)
                first_times.append(int((time if clock is None else clock.shifted(time))[0]))
    return min(first_times, default=0)


def encode_timelines(
    built: Iterable[Timeline], base: int, tally: Tally | None = None
) -> Iterator[Buffer]:
    """Yield timelines encoded as one JSON object, in chunks; times count from `base` (ns).

    Drawn rows are counted in `tally`.
    """
    header = {"displayTimeUnit": "ns", "baseTimeNanoseconds": base}
    yield (_json(header)[:-1] + ',"traceEvents":[\n').encode()
    separator = b""
    for run_index, timeline in enumerate(built):
        for chunk in _encode_timeline(timeline, base, run_index):
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
        else:
            yield encode_counter(part, thread, base)


def thread_numbers(tracks: Sequence[Track]) -> dict[Track, int]:
    """Return the thread number of each track but processes and counters.

    Threads have their tid, all others an unused number.
    """
    numbers: dict[Track, int] = {}
    unused_number = _FIRST_FREE_TID
    for track in tracks:
        if track.kind in ("process", "counter"):
            continue
        if track.kind == "thread" and track.tid is not None and 0 < track.tid <= _LARGEST_TID:
            numbers[track] = track.tid
            continue
        while unused_number in numbers.values():
            unused_number += 1
        numbers[track] = unused_number
        unused_number += 1
    return numbers


def encode_slices(slices: Slices, thread: str, base: int, run: int) -> Iterator[Buffer]:
    """Yield slices encoded as complete events, ordered by begin, with flows as `bind_id`.

    Those without a duration that are instants become instant events.

    Args:
        slices: the slices of one track.
        thread: JSON members with the track's pid and tid.
        base: the time from which events' times count, in ns since 1970.
        run: the run's index among the timelines, for the numbers of flows.

    """
    comma = "," if slices.launch is not None else ""
    table, entry_of_caption = used_entries(
        slices.captions, slices.caption, partial(_event_end, slices.category, comma)
    )
    phase = '"i","s":"t"' if slices.are_instants else '"X"'
    event_start = f'{{"ph":{phase},{thread},"ts":'.encode()
    for rows in _index_chunks(slices):
        event: list[Piece] = [
            Constant(event_start),
            *_microsecond_pieces(slices.begin[rows] - base),
        ]
        if not slices.are_instants:
            event += [Constant(b',"dur":'), *_microsecond_pieces(slices.duration[rows])]
        if slices.flow is not None and slices.launch is not None:
            rows_with_flow = np.flatnonzero(slices.flow[rows])
            flow = slices.launch[rows[rows_with_flow]].astype(np.int64) + (run << _LAUNCH_BITS)
            event.append(_flow_piece(rows_with_flow, flow, slices.category, rows.size))
        event.append(Constant(b',"args":{'))
        if slices.launch is not None:
            event += _launch_pieces(slices.launch[rows])
        event.append(Lookup(table, entry_of_caption[slices.caption[rows]]))
        yield concatenate_rows(event, rows.size).data


def _index_chunks(slices: Slices) -> Iterator[Integers]:
    """Yield the indexes of the slices, ordered by begin, in arrays of at most `_CHUNK`."""
    for rows in independent_rows(slices.begin, slices.duration):
        for first in range(0, rows.size, _CHUNK):
            yield rows[first : first + _CHUNK]


def encode_counter(counter: Counter, thread: str, base: int) -> Buffer:
    """Return a counter's values as counter events, which viewers join by name and process."""
    parent = counter.track.parent
    name = _json((_title_prefix(parent) if parent else "") + counter.track.name)
    event: list[Piece] = [
        Constant(f'{{"ph":"C",{thread},"name":{name},"ts":'.encode()),
        *_microsecond_pieces(counter.time - base),
        Constant(b',"args":{"value":'),
        Decimal(counter.value),
        Constant(b"}},\n"),
    ]
    return concatenate_rows(event, counter.time.size).data


def _microsecond_pieces(nanoseconds: Integers) -> list[Piece]:
    nanoseconds = nanoseconds.astype(np.int64, copy=False)  # columns may be of a narrower type
    whole = nanoseconds // 1_000
    return [Decimal(whole), Lookup(_FRACTIONS, nanoseconds - whole * 1_000)]


def _flow_piece(rows: Integers, flow: Integers, category: str, count: int) -> Piece:
    direction = "flow_in" if category == "gpu" else "flow_out"
    start = Constant(f',"{direction}":true,"bind_id":"'.encode())
    return PartialRows(rows, [start, Decimal(flow), Constant(b'"')], count)


def _launch_pieces(launch: Integers) -> list[Piece]:
    known, unknown = np.flatnonzero(launch >= 0), np.flatnonzero(launch < 0)
    return [
        Constant(f'"{LAUNCH}":'.encode()),
        PartialRows(known, [Decimal(launch[known])], launch.size),
        PartialRows(unknown, [Constant(b"null")], launch.size),
    ]


def _event_end(category: str, comma: str, caption: Caption) -> bytes:
    """Return a caption's facts, category and name as the end of an event.

    `comma` separates the facts from earlier arguments.
    """
    facts = _json(_as_object(caption.facts))[1:]
    start = comma + facts if caption.facts else facts
    return f'{start},"cat":"{category}","name":{_json(caption.name)}}},\n'.encode()


def _as_object(facts: Facts) -> dict[str, Any]:
    return {key: _as_object(value) if isinstance(value, tuple) else value for key, value in facts}


def _metadata(track: Track, tids: Mapping[Track, int]) -> bytes:
    if track.kind == "counter":
        return b""
    if track.kind == "process":
        track_ids: dict[str, Any] = {"ph": "M", "pid": track.pid, "tid": 0}
        name, sort_event = "process_name", "process_sort_index"
        title = track.name
    else:
        track_ids = {"ph": "M", "pid": track.pid, "tid": tids[track]}
        name, sort_event = "thread_name", "thread_sort_index"
        parent = track.parent
        title = track.name if parent is None else _title_prefix(parent) + track.name
    sort = track.rank if track.kind == "process" else list(tids).index(track)
    events = (
        {**track_ids, "name": name, "args": {"name": title}},
        {**track_ids, "name": sort_event, "args": {"sort_index": sort}},
    )
    return "".join(_json(event) + ",\n" for event in events).encode()


def _title_prefix(parent: Track) -> str:
    """Return the start of a track's title with its parent's name; "" if that is a process."""
    if parent.kind == "process":
        return ""
    return f"{parent.name} {parent.tid} · " if parent.kind == "thread" else f"{parent.name} · "


def _json(value: object) -> str:
    """Return compact JSON, with "␀" for NUL, at which readers in C++ end a string."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\\u0000", "␀")
