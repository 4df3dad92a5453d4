"""All that ran, as one table: kernels of Triton and of libraries, copies and fills, by time."""

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
    """A row: what ran under a name, with its kernel's profile where it is one of Triton's."""

    name: str
    place: str
    executions: int
    taken_ns: int | None
    share: float | None
    kind: str = TRITON
    kernel: KernelProfile | None = None
    bytes: int | None = None


def table_rows(profile: Profile) -> list[TableRow]:
    """Return the rows by time: of devices where they were timed, else of the host."""
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
    place = _place(row.file, row.line)
    if row.kind not in OWN:
        kernel = None
    if row.kind not in (TRITON, *_OF_MEMORY):
        place = place or row.kind
    return TableRow(
        name, place, row.executions, row.device_ns, row.share, row.kind, kernel, row.bytes
    )


def _of_kernel(kernel: KernelProfile, name: str) -> TableRow:
    taken = kernel.measured.device_ns
    taken = kernel.measured.host_ns if taken is None else taken
    place = _place(kernel.file, kernel.line)
    return TableRow(name, place, kernel.launches, taken, None, kernel=kernel)


def _has_device_times(profile: Profile) -> bool:
    """Return whether kernels have times on devices; another engine's sums have no more of them."""
    return any(kernel.measured.device_ns is not None for kernel in profile.kernels)


def _place(file: str | None, line: int | None) -> str:
    name = PurePath(file).name if file else ""
    return f"{name}:{line}" if name and line else name


def table_text(profile: Profile, most: int | None, width: int) -> list[str]:
    """Return the lines of the table: the first `most` rows (None: all), and what the others are."""
    rows = table_rows(profile)
    shown = rows[:most]
    timed = profile.device_time is not None
    of = "GPU time" if timed or _has_device_times(profile) else "host time"
    header = ["kernel", *(["share"] if timed else []), of,
              "launches", "rate", "roofline", "line"]  # fmt: skip
    cells, places = [], short_places([row.place for row in rows])
    for row in shown:
        share = [percent(row.share)] if timed else []
        taken = duration(row.taken_ns) if not timed or row.share is not None else "-"
        place = places[row.place]
        cells.append(
            [row.name, *share, taken, count(row.executions), _rate(row), _reached(row), place]
        )
    for name in ("rate", "roofline"):
        at = header.index(name)
        if all(cell[at] == "-" for cell in cells):  # not replayed, or no limits are known
            header.remove(name)
            cells = [[*cell[:at], *cell[at + 1 :]] for cell in cells]
    # The line is left out last, and before that what it took the host to say less of.
    optional = [at for at, name in enumerate(header) if name in ("launches", "rate", "line")]
    lines = columns(header, cells, width, texts=(0, len(header) - 1), optional=optional)
    left = rows[len(shown) :]
    if left:
        rest = sum(row.taken_ns or 0 for row in left if row.share is not None or not timed)
        lines.append(f"… {plural(len(left), 'more row')}, {duration(rest)} (--full shows them)")
    return lines + _library_text(profile, width)


def short_places(places: Sequence[str]) -> dict[str, str]:
    """Return the places of a table, with as much of generated files' hashes as tells them apart."""
    found = {place: _GENERATED.fullmatch(place) for place in places}
    hashes = {match[1] for match in found.values() if match is not None}
    length = next(
        n for n in count_from(HASH_SHOWN) if len({name[:n] for name in hashes}) == len(hashes)
    )
    return {
        place: place if match is None else f"{match[1][:length]}…{match[2]}"
        for place, match in found.items()
    }


def _rate(row: TableRow) -> str:
    """Return what limits a kernel as a rate: bytes, or FLOPs where arithmetic does."""
    if row.kernel is not None and row.kernel.measured.device_ns is None:
        derived = row.kernel.derived
        return (">" if derived.unknown_accesses else "") + size(derived.bytes_per_launch)
    found = rate(row)
    return (
        "-"
        if found is None
        else (">" if found.at_least else "") + amount(found.per_second, found.unit)
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes or FLOPs a second; `at_least`: some accesses could not be counted."""

    per_second: float
    unit: Literal["B/s", "FLOP/s"]
    at_least: bool = False


def rate(row: TableRow) -> Rate | None:
    """Return bytes a second, or FLOPs where arithmetic limits; None where that is not known."""
    if row.kernel is None:
        moved, taken = row.bytes, row.taken_ns
        return Rate(moved / taken * 1e9, "B/s") if moved and taken else None
    derived, roof = row.kernel.derived, row.kernel.roofline
    if roof is not None and roof.bound == "compute":
        reached = derived.flops_per_second
        return None if reached is None else Rate(reached, "FLOP/s")
    unique, taken = derived.unique_bytes, row.kernel.measured.device_ns
    at_least = bool(derived.unknown_accesses)
    return Rate(unique / taken * 1e9, "B/s", at_least) if unique and taken else None


def _reached(row: TableRow) -> str:
    if row.kernel is None or row.kernel.roofline is None:
        return "-"
    return percent(row.kernel.roofline.achieved)


def _library_text(profile: Profile, width: int) -> list[str]:
    """Return how much of the time is that of libraries' kernels."""
    time = profile.device_time
    if time is None:
        return []
    made = [row for row in time.rows if row.kind not in (*OWN, *_OF_MEMORY)]
    if not made:
        return []
    share = sum(row.device_ns for row in made) / time.device_ns if time.device_ns else 0.0
    taken: dict[str, int] = {}
    for row in made:
        taken[row.kind] = taken.get(row.kind, 0) + row.device_ns
    names = ", ".join(sorted(taken, key=lambda kind: -taken[kind]))
    total = duration(sum(taken.values()))
    return wrapped(f"library kernels ({names}): {percent(share)} of GPU time, {total}", width)
