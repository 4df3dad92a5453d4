"""Table of all device work by time: kernels of Triton and of libraries, copies and fills."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count as count_from
from pathlib import PurePath
from typing import Final, Literal

from kvtrace.converters.profile.device_time import DeviceRow
from kvtrace.converters.profile.profile import KernelProfile, Profile
from kvtrace.figures.identity import names_apart
from kvtrace.figures.lines import GENERATED, HASH_SHOWN
from kvtrace.figures.makers import OWN, TRITON
from kvtrace.text import amount, columns, count, duration, percent, plural, size, wrapped

_OF_MEMORY: Final = frozenset({"copy", "fill"})
#: A file that Inductor generated, and the line.
_GENERATED: Final = re.compile(rf"({GENERATED})(\.py(?::\d+)?)")


@dataclass(frozen=True, slots=True)
class TableRow:
    """All executions under one name, with the kernel's profile if Triton compiled the kernel."""

    name: str
    place: str
    executions: int
    taken_ns: int | None
    share: float | None
    kind: str = TRITON
    kernel: KernelProfile | None = None
    bytes: int | None = None


def table_rows(profile: Profile) -> list[TableRow]:
    """Return the rows by device time if executions were timed, else by host time."""
    time = profile.device_time
    launched = [k for k in profile.kernels if k.launches or k.tuning_launches or k.runs]
    if time is None:
        names = names_apart(launched)
        return [_of_kernel(k, name) for k, name in zip(launched, names, strict=True)]
    kernels = {k.key: k for k in profile.kernels}
    executed = {row.key for row in time.rows if row.kind in OWN}
    others = [k for k in launched if k.key not in executed]
    names = names_apart([*time.rows, *others])
    return [
        *(
            _of_device(row, n, kernels.get(row.key))
            for row, n in zip(time.rows, names, strict=False)
        ),
        *(_of_kernel(k, n) for k, n in zip(others, names[len(time.rows) :], strict=True)),
    ]


def _of_device(row: DeviceRow, name: str, kernel: KernelProfile | None) -> TableRow:
    location = _place(row.file, row.line)
    if row.kind not in OWN:
        kernel = None
    if row.kind not in (TRITON, *_OF_MEMORY):
        location = location or row.kind
    return TableRow(
        name, location, row.executions, row.device_ns, row.share, row.kind, kernel, row.bytes
    )


def _of_kernel(kernel: KernelProfile, name: str) -> TableRow:
    taken_ns = kernel.measured.device_ns
    taken_ns = kernel.measured.host_ns if taken_ns is None else taken_ns
    location = _place(kernel.file, kernel.line)
    return TableRow(name, location, kernel.launches, taken_ns, None, kernel=kernel)


def _has_device_times(profile: Profile) -> bool:
    """Return whether kernels have device times, which another engine's sums have too."""
    return any(kernel.measured.device_ns is not None for kernel in profile.kernels)


def _place(file: str | None, line: int | None) -> str:
    name = PurePath(file).name if file else ""
    return f"{name}:{line}" if name and line else name


def table_text(profile: Profile, most: int | None, width: int) -> list[str]:
    """Return the table's lines: the first `most` rows (None: all), and a line on the others."""
    rows = table_rows(profile)
    shown = rows[:most]
    timed = profile.device_time is not None
    time_header = "GPU time" if timed or _has_device_times(profile) else "host time"
    header = ["kernel", *(["share"] if timed else []), time_header,
              "launches", "rate", "roofline", "line"]  # fmt: skip
    cells, places = [], short_places([row.place for row in rows])
    for row in shown:
        share = [percent(row.share)] if timed else []
        time = duration(row.taken_ns) if not timed or row.share is not None else "-"
        location = places[row.place]
        cells.append(
            [row.name, *share, time, count(row.executions), _rate(row), _reached(row), location]
        )
    for name in ("rate", "roofline"):
        index = header.index(name)
        if all(cell[index] == "-" for cell in cells):  # not replayed, or no limits are known
            header.remove(name)
            cells = [[*cell[:index], *cell[index + 1 :]] for cell in cells]
    # On a narrow terminal these columns are left out.
    optional = [index for index, name in enumerate(header) if name in ("launches", "rate", "line")]
    lines = columns(header, cells, width, texts=(0, len(header) - 1), optional=optional)
    hidden = rows[len(shown) :]
    if hidden:
        rest = sum(row.taken_ns or 0 for row in hidden if row.share is not None or not timed)
        lines.append(f"… {plural(len(hidden), 'more row')}, {duration(rest)} (--full shows them)")
    return lines + _library_text(profile, width)


def short_places(places: Sequence[str]) -> dict[str, str]:
    """Return short forms of locations: hashes of generated files cut to the length that differs."""
    matches = {place: _GENERATED.fullmatch(place) for place in places}
    hashes = {match[1] for match in matches.values() if match is not None}
    length = next(
        n for n in count_from(HASH_SHOWN) if len({name[:n] for name in hashes}) == len(hashes)
    )
    return {
        place: place if match is None else f"{match[1][:length]}…{match[2]}"
        for place, match in matches.items()
    }


def _rate(row: TableRow) -> str:
    """Return a kernel's rate: FLOPs per second if arithmetic is the bound, else bytes."""
    if row.kernel is not None and row.kernel.measured.device_ns is None:
        derived = row.kernel.derived
        return (">" if derived.unknown_accesses else "") + size(derived.bytes_per_launch)
    kernel_rate = rate(row)
    return (
        "-"
        if kernel_rate is None
        else (">" if kernel_rate.at_least else "")
        + amount(kernel_rate.per_second, kernel_rate.unit)
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes or FLOPs per second; a lower bound (`at_least`) if some accesses were not counted."""

    per_second: float
    unit: Literal["B/s", "FLOP/s"]
    at_least: bool = False


def rate(row: TableRow) -> Rate | None:
    """Return bytes per second, or FLOPs if arithmetic is the bound; None if unknown."""
    if row.kernel is None:
        moved, taken_ns = row.bytes, row.taken_ns
        return Rate(moved / taken_ns * 1e9, "B/s") if moved and taken_ns else None
    derived, roof = row.kernel.derived, row.kernel.roofline
    if roof is not None and roof.bound == "compute":
        reached = derived.flops_per_second
        return None if reached is None else Rate(reached, "FLOP/s")
    unique, taken_ns = derived.unique_bytes, row.kernel.measured.device_ns
    at_least = bool(derived.unknown_accesses)
    return Rate(unique / taken_ns * 1e9, "B/s", at_least) if unique and taken_ns else None


def _reached(row: TableRow) -> str:
    if row.kernel is None or row.kernel.roofline is None:
        return "-"
    return percent(row.kernel.roofline.achieved)


def _library_text(profile: Profile, width: int) -> list[str]:
    """Return a sentence on the share of the time in libraries' kernels."""
    time = profile.device_time
    if time is None:
        return []
    library_rows = [row for row in time.rows if row.kind not in (*OWN, *_OF_MEMORY)]
    if not library_rows:
        return []
    share = sum(row.device_ns for row in library_rows) / time.device_ns if time.device_ns else 0.0
    ns_by_library: dict[str, int] = {}
    for row in library_rows:
        ns_by_library[row.kind] = ns_by_library.get(row.kind, 0) + row.device_ns
    names = ", ".join(sorted(ns_by_library, key=lambda kind: -ns_by_library[kind]))
    total = duration(sum(ns_by_library.values()))
    return wrapped(f"library kernels ({names}): {percent(share)} of GPU time, {total}", width)
