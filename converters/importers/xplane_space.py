"""Reader of XSpace messages, which XLA's profiler writes: planes, their lines, and timed events.

Messages, fields and numbers are those of tsl/profiler/protobuf/xplane.proto in
https://github.com/openxla/xla. Their descriptors are built from a short description, so neither
TensorFlow nor generated code is needed; the parser is that of the package `protobuf`
(`kvtrace[xplane]`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.json_values import text
from kvtrace.converters.importers.registry import BadSource

#: Types of fields, as FieldDescriptorProto.Type numbers them. Texts are read as bytes, since XLA
#: does not check that they are UTF-8, and a parser of texts would refuse the whole file.
_DOUBLE, _INT64, _UINT64, _BYTES, _MESSAGE = 1, 3, 4, 12, 11
_PACKAGE: Final = "kvtrace.xplane"
#: Fields by message: name, number, type, and the message's name for those of another message. A
#: name that ends in `*` is repeated, one that begins with `|` is of the message's only oneof.
_MESSAGES: Final[Mapping[str, tuple[tuple[Any, ...], ...]]] = {
    "Space": (("planes*", 1, _MESSAGE, "Plane"), ("errors*", 2, _BYTES), ("warnings*", 3, _BYTES),
              ("hostnames*", 4, _BYTES)),
    "Plane": (("id", 1, _INT64), ("name", 2, _BYTES), ("lines*", 3, _MESSAGE, "Line"),
              ("events*", 4, _MESSAGE, "EventEntry"), ("names*", 5, _MESSAGE, "StatEntry"),
              ("stats*", 6, _MESSAGE, "Stat")),
    "Line": (("id", 1, _INT64), ("name", 2, _BYTES), ("timestamp_ns", 3, _INT64),
             ("events*", 4, _MESSAGE, "Event"), ("duration_ps", 9, _INT64),
             ("display_name", 11, _BYTES)),
    "Event": (("metadata_id", 1, _INT64), ("|offset_ps", 2, _INT64), ("duration_ps", 3, _INT64),
              ("stats*", 4, _MESSAGE, "Stat"), ("|occurrences", 5, _INT64)),
    "Stat": (("metadata_id", 1, _INT64), ("|double", 2, _DOUBLE), ("|unsigned", 3, _UINT64),
             ("|integer", 4, _INT64), ("|text", 5, _BYTES), ("|bytes", 6, _BYTES),
             ("|reference", 7, _UINT64), ("|gzip", 8, _BYTES)),
    "EventEntry": (("key", 1, _INT64), ("value", 2, _MESSAGE, "EventMetadata")),
    "EventMetadata": (("name", 2, _BYTES), ("display_name", 4, _BYTES),
                      ("stats*", 5, _MESSAGE, "Stat")),
    "StatEntry": (("key", 1, _INT64), ("value", 2, _MESSAGE, "StatMetadata")),
    "StatMetadata": (("name", 2, _BYTES),),
}  # fmt: skip

Stats = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Event:
    """A timed event of a line.

    Attributes:
        name: Its full name.
        display_name: Its short name, if it has one, else the full one.
        begin: Nanoseconds since the begin of the profile, or since 1970.
        end: End, on the same clock.
        stats: Named values of the event and of its kind; without values of bytes.

    """

    name: str
    display_name: str
    begin: int
    end: int
    stats: Stats


class Line:
    """A timeline of a plane: a stream, a host thread, or a level of detail of a device."""

    def __init__(self, plane: "Plane", message: Any) -> None:
        self._plane = plane
        self._message = message
        self.id: int = message.id
        self.name = _text(message.name) or _text(message.display_name)

    def __len__(self) -> int:
        return len(self._message.events)

    @property
    def timestamp(self) -> int:
        """Time that the offsets of events count from, in ns."""
        return int(self._message.timestamp_ns)

    @property
    def aggregated(self) -> int:
        """Number of events that sum up several occurrences and therefore have no time."""
        return sum(event.WhichOneof("one") == "occurrences" for event in self._message.events)

    def events(self) -> Iterator[Event]:
        """Yield the timed events, in the order of the file."""
        origin = self.timestamp * 1000
        for message in self._message.events:
            if message.WhichOneof("one") == "occurrences":
                continue
            name, display_name, stats = self._plane.kind_of_event(message.metadata_id)
            begin = (origin + message.offset_ps) // 1000
            if message.stats:
                stats = {**stats, **self._plane.values(message.stats)}
            end = begin + (message.duration_ps + 500) // 1000
            yield Event(name, display_name, begin, end, stats)


class Plane:
    """A device, the threads of a host, or metadata, with its lines."""

    def __init__(self, message: Any) -> None:
        self.name = _text(message.name)
        self._names = {entry.key: _text(entry.value.name) for entry in message.names}
        self._metadata = {entry.key: entry.value for entry in message.events}
        self._kinds: dict[int, tuple[str, str, Stats]] = {}
        self.stats = self.values(message.stats)
        self.lines = tuple(Line(self, line) for line in message.lines)

    def kind_of_event(self, number: int) -> tuple[str, str, Stats]:
        """Return the name, short name and common values of all events with a metadata id."""
        kind = self._kinds.get(number)
        if kind is None:
            metadata = self._metadata.get(number)
            name = _text(metadata.name) if metadata is not None else ""
            short = _text(metadata.display_name) if metadata is not None else ""
            common = self.values(metadata.stats) if metadata is not None else {}
            kind = self._kinds[number] = (name or short or "?", short or name or "?", common)
        return kind

    def values(self, stats: Any) -> dict[str, int | float | str]:
        """Return the values of stats by name; values of bytes and packed ones are left out."""
        values: dict[str, int | float | str] = {}
        for stat in stats:
            kind = stat.WhichOneof("one")
            if kind is None or kind in ("bytes", "gzip"):
                continue
            value = getattr(stat, kind)
            if kind == "reference":
                value = self._names.get(value, "")
            elif kind == "text":
                value = _text(value)
            values[self._names.get(stat.metadata_id, "?")] = value
        return values


@dataclass(frozen=True, slots=True)
class Space:
    """A profile of one host: its planes, its name, and what the profiler reports of itself."""

    planes: tuple[Plane, ...]
    host: str | None
    reports: tuple[str, ...]


def parsed_space(path: Path, content: bytes) -> Space:
    """Return the message in the content of a file.

    Raises:
        BadSource: the package `protobuf` is not installed, or the content is no such message.

    """
    try:
        from google.protobuf.message import DecodeError
    except ImportError as missing:
        raise BadSource(
            f"reading {path} needs the package protobuf: pip install 'kvtrace[xplane]'"
        ) from missing
    try:
        message = _space_class().FromString(content)
    except DecodeError as problem:
        raise BadSource(
            f"{path} is damaged or incomplete: it is not a message of XLA's profiler; copy it again"
        ) from problem
    return Space(
        tuple(Plane(plane) for plane in message.planes),
        next(filter(None, map(_text, message.hostnames)), None),
        tuple(filter(None, map(_text, (*message.errors, *message.warnings)))),
    )


def _text(raw: bytes) -> str:
    return text(raw.decode("utf-8", "replace")) or ""


@cache
def _space_class() -> Any:
    """Return the class of XSpace messages, in a pool of its own."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if any(field[0].startswith("|") for field in fields):
            message.oneof_decl.add(name="one")
        for label, number, kind, *other in fields:
            field = message.field.add(name=label.strip("|*"), number=number, type=kind)
            field.label = 3 if label.endswith("*") else 1  # LABEL_REPEATED, LABEL_OPTIONAL
            if label.startswith("|"):
                field.oneof_index = 0
            if other:
                field.type_name = f".{_PACKAGE}.{other[0]}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Space"))
