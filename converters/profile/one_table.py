"""Table of all device work by time: kernels of Triton and of libraries, copies and fills."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from typing import Final, Literal

from kvtrace.converters.profile.device_text import MEMORY_KINDS, library_sentence
from kvtrace.converters.profile.profile_model import KernelProfile, Profile
from kvtrace.figures.device_time import DeviceRow
from kvtrace.figures.identity import TRITON, is_own, names_apart
from kvtrace.figures.lines import GENERATED, HASH_SHOWN, Place
from kvtrace.text import amount, columns, count, duration, percent, plural, size, wrapped

#: A file that Inductor generated, and the line.
_GENERATED: Final = re.compile(rf"({GENERATED})(\.py(?::\d+)?)")


@dataclass(frozen=True, slots=True)
class TableRow:
    """All executions under one name, with the kernel's profile if Triton compiled the kernel.

    `place` is the text of its source line, or the library's name. `taken_ns` is device time, or
    host time if nothing was timed on a device. `bytes` are those of copies and fills.
    """

    name: str
    place: str
    executions: int
    taken_ns: int | None
    share: float | None
    kind: str = TRITON
    kernel: KernelProfile | None = None
    bytes: int | None = None

    @property
    def counted(self) -> Literal["launches", "runs"]:
        """The noun of `executions`: replays of graphs are runs, and no launches."""
        kernel = self.kernel
        return "launches" if kernel is None or kernel.launches == self.executions else "runs"


def table_rows(profile: Profile) -> list[TableRow]:
    """Return a row per kernel, copy and fill, the most time first.

    Without device times these are the launched kernels, with host times. Kernels that were launched
    and have no timed execution come last.
    """
    time = profile.device_time
    launched = profile.launched
    if time is None:
        names = names_apart(launched)
        return [_kernel_row(k, name) for k, name in zip(launched, names, strict=True)]
    kernels = {k.key: k for k in profile.kernels}
    executed = time.kernel_rows
    not_executed = [k for k in launched if k.key not in executed]
    names = names_apart([*time.rows, *not_executed])
    return [
        *(
            _executed_row(row, n, kernels.get(row.key))
            for row, n in zip(time.rows, names, strict=False)
        ),
        *(_kernel_row(k, n) for k, n in zip(not_executed, names[len(time.rows) :], strict=True)),
    ]


def _executed_row(row: DeviceRow, name: str, kernel: KernelProfile | None) -> TableRow:
    location = _location_text(row.file, row.line)
    if not is_own(row.kind):
        kernel = None
    if row.kind not in (TRITON, *MEMORY_KINDS):
        location = location or row.kind
    return TableRow(
        name, location, row.executions, row.device_ns, row.share, row.kind, kernel, row.bytes
    )


def _kernel_row(kernel: KernelProfile, name: str) -> TableRow:
    taken_ns = kernel.measured.device_ns
    taken_ns = kernel.measured.host_ns if taken_ns is None else taken_ns
    location = _location_text(kernel.file, kernel.line)
    return TableRow(name, location, kernel.launches, taken_ns, None, kernel=kernel)


def _location_text(file: str | None, line: int | None) -> str:
    return Place(file, line, None).short if file else ""


def table_text(profile: Profile, most: int | None, width: int) -> list[str]:
    """Return the lines of the table: its first `most` rows (None: all) and the total of the others.

    A sentence on libraries' kernels follows. Columns without any figure are left out.
    """
    rows = table_rows(profile)
    shown_rows = rows[:most]
    has_executions = profile.device_time is not None
    on_device = has_executions or any(k.measured.device_ns is not None for k in profile.kernels)
    short_locations = short_places([row.place for row in rows])
    time_header = "GPU time" if on_device else "host time"
    count_header = max(row.counted for row in rows) if rows else "launches"
    table: dict[str, Callable[[TableRow], str]] = {
        "kernel": lambda row: row.name,
        "share": lambda row: percent(row.share),
        time_header: lambda row: (
            "-" if has_executions and row.share is None else duration(row.taken_ns)
        ),
        count_header: lambda row: count(row.executions),
        **(_RATES if on_device else _WORK),
        "from": lambda row: short_locations[row.place],
    }
    cells = {name: [cell(row) for row in shown_rows] for name, cell in table.items()}
    # not timed, not replayed, or no limits are known
    header = [name for name in table if name == "kernel" or set(cells[name]) != {"-"}]
    # On a narrow terminal these columns are left out.
    optional = [
        header.index(name)
        for name in (count_header, "rate", "FLOP/launch", "bytes/launch", "from")
        if name in header
    ]
    lines_of_cells = [list(row) for row in zip(*(cells[name] for name in header), strict=True)]
    lines = columns(header, lines_of_cells, width, texts=(0, len(header) - 1), optional=optional)
    hidden_rows = rows[len(shown_rows) :]
    if hidden_rows:
        hidden_ns = sum(
            row.taken_ns or 0 for row in hidden_rows if row.share is not None or not has_executions
        )
        lines.append(
            f"… {plural(len(hidden_rows), 'more row')}, {duration(hidden_ns)} (--full shows them)"
        )
    library = None if profile.device_time is None else library_sentence(profile.device_time)
    return lines if library is None else lines + wrapped(library, width)


def short_places(places: Sequence[str]) -> dict[str, str]:
    """Return a short form of each location text ("file.py:line"), by the text.

    In names of generated files, hashes are cut to the shortest length that keeps all different.
    """
    match_by_place = {place: _GENERATED.fullmatch(place) for place in places}
    hashes = {match[1] for match in match_by_place.values() if match is not None}
    hash_length = next(
        n for n in count_from(HASH_SHOWN) if len({name[:n] for name in hashes}) == len(hashes)
    )
    return {
        place: place if match is None else f"{match[1][:hash_length]}…{match[2]}"
        for place, match in match_by_place.items()
    }


def _bytes_cell(row: TableRow) -> str:
    """Return the bytes per launch of a kernel, ">" before a lower bound, "-" if unknown."""
    if row.kernel is None or row.kernel.derived.bytes_per_launch is None:
        return "-"
    derived = row.kernel.derived
    return (">" if derived.unknown_accesses else "") + size(derived.bytes_per_launch)


def _rate_cell(row: TableRow) -> str:
    """Return the bytes or FLOPs per second of a row, "-" if unknown."""
    per_second = rate(row)
    if per_second is None:
        return "-"
    bound = ">" if per_second.at_least else ""
    return bound + amount(per_second.per_second, per_second.unit)


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes or FLOPs per second; a lower bound (`at_least`) if some accesses were not counted."""

    per_second: float
    unit: Literal["B/s", "FLOP/s"]
    at_least: bool = False


def rate(row: TableRow) -> Rate | None:
    """Return the bytes per second of a row, or FLOPs if arithmetic bounds it; None if unknown."""
    if row.kernel is None:
        moved_bytes, taken_ns = row.bytes, row.taken_ns
        return Rate(moved_bytes / taken_ns * 1e9, "B/s") if moved_bytes and taken_ns else None
    derived, roof = row.kernel.derived, row.kernel.roofline
    if roof is not None and roof.bound == "compute":
        flops_per_second = derived.flops_per_second
        return None if flops_per_second is None else Rate(flops_per_second, "FLOP/s")
    unique_bytes, taken_ns = derived.unique_bytes, row.kernel.measured.device_ns
    at_least = bool(derived.unknown_accesses)
    return (
        Rate(unique_bytes / taken_ns * 1e9, "B/s", at_least) if unique_bytes and taken_ns else None
    )


def _roofline_cell(row: TableRow) -> str:
    if row.kernel is None or row.kernel.roofline is None:
        return "-"
    return percent(row.kernel.roofline.achieved)


def _flops_cell(row: TableRow) -> str:
    return "-" if row.kernel is None else amount(row.kernel.derived.flops_per_launch)


#: Columns of derived figures, where devices were timed, and where they were not.
_RATES: Final = {"rate": _rate_cell, "roofline": _roofline_cell}
_WORK: Final = {"bytes/launch": _bytes_cell, "FLOP/launch": _flops_cell}
