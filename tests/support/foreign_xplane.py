"""XPlane files as XLA's profiler writes them, by the numbers of fields in its xplane.proto.

Nothing is of a real machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvtrace.converters.timeline.protobuf import bytes_field, integer_field

Value = int | str | bytes


@dataclass(frozen=True)
class XEvent:
    """An event: its name, times in ns on its line, and stats; without a begin it is aggregated."""

    name: str
    begin: float | None
    taken: float
    stats: Mapping[str, Value] = field(default_factory=dict)
    display: str = ""
    #: Stats of the kind of event.
    common: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class XLine:
    """A line: its id, its name, its events, and the time in ns that they count from."""

    number: int
    name: str
    events: Sequence[XEvent]
    origin: int = 0


def plane(name: str, lines: Sequence[XLine], stats: Mapping[str, Value] | None = None) -> bytes:
    """Return a plane as a field of a space."""
    ids: dict[str, int] = {}
    kinds: dict[str, tuple[int, bytes]] = {}

    def stat(number: int, key: str, value: Value) -> bytes:
        encoded = integer_field(1, ids.setdefault(key, len(ids) + 1))
        if isinstance(value, int):
            encoded += integer_field(4 if value < 0 else 3, value)
        elif isinstance(value, bytes):
            encoded += bytes_field(6, value)
        elif value.startswith("regs:"):  # XLA stores texts that repeat as names of stats
            encoded += integer_field(7, ids.setdefault(value, len(ids) + 1))
        else:
            encoded += bytes_field(5, value)
        return bytes_field(number, encoded)

    def kind(event: XEvent) -> int:
        if event.name not in kinds:
            number = len(kinds) + 1
            content = integer_field(1, number) + bytes_field(2, event.name)
            content += bytes_field(4, event.display) if event.display else b""
            content += b"".join(stat(5, *pair) for pair in event.common.items())
            kinds[event.name] = number, content
        return kinds[event.name][0]

    body = integer_field(1, 7) + bytes_field(2, name)
    for line in lines:
        content = integer_field(1, line.number) + bytes_field(2, line.name)
        content += integer_field(3, line.origin)
        for event in line.events:
            inner = integer_field(1, kind(event))
            inner += (
                integer_field(5, 4) if event.begin is None
                else integer_field(2, round(event.begin * 1000))
            )  # fmt: skip
            inner += integer_field(3, round(event.taken * 1000))
            inner += b"".join(stat(4, *pair) for pair in event.stats.items())
            content += bytes_field(4, inner)
        body += bytes_field(3, content)
    body += b"".join(stat(6, *pair) for pair in (stats or {}).items())
    for number, content in kinds.values():
        body += bytes_field(4, integer_field(1, number) + bytes_field(2, content))
    for key, number in ids.items():
        named = integer_field(1, number) + bytes_field(2, key)
        body += bytes_field(5, integer_field(1, number) + bytes_field(2, named))
    return bytes_field(1, body)


def write_space(
    folder: Path, planes: Sequence[bytes], *, host: str = "", warning: str = ""
) -> Path:
    """Write a profile with planes, a name of the host, and a warning of the profiler."""
    content = b"".join(planes)
    content += bytes_field(3, warning) if warning else b""
    content += bytes_field(4, host) if host else b""
    path = folder / "host.xplane.pb"
    path.write_bytes(content)
    return path


def times_of_day(start: int) -> bytes:
    """Return the plane that says at which ns since 1970 the profile began."""
    return plane("Task Environment", (), {"profile_start_time": start})
