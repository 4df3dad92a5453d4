"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

from collections.abc import Mapping
from typing import Any, Final

from kvtrace.converters.importers.event_rows import EventRows, json_text
from kvtrace.converters.importers.json_values import mapping, nanoseconds, text
from kvtrace.converters.importers.rows import NONE

#: Arguments of executions that have a column of integers.
_INTEGERS: Final = frozenset(
    {"device", "stream", "correlation", "registers per thread", "shared memory", "bytes"}
    | {"External id"}
)
#: Arguments of executions where 0 stands for none, which the column has as null.
_GRAPHS: Final = frozenset({"graph id", "graph node id"})
_SIZES: Final = frozenset({"grid", "block"})
#: Categories that a converter gives back for kernels, copies and fills.
_CATEGORIES: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_TEXTS: Final = frozenset({"ph", "cat", "name"})
_PLACES: Final = frozenset({"pid", "tid"})
#: Arguments of other events that have a column of integers.
_IDS: Final = frozenset({"correlation", "External id"})
_LARGEST: Final = 2**63 - 1


def add_event(events: EventRows, event: Mapping[str, Any], record: int) -> None:
    """Add an event that is not an execution to `events`; `record` is its number in the file.

    Raises ValueError if one of its times is not a number of µs.
    """
    texts: dict[str, str] = {}
    times: dict[str, int] = {}
    numbers: dict[str, int] = {}
    members: dict[str, Any] = {}
    for key, value in event.items():
        kind = type(value)
        if key in _TEXTS and kind is str and value and text(value) == value:
            texts[key] = value
        elif key == "ts" or (key == "dur" and event.get("ph") == "X"):
            times[key] = nanoseconds(value)
        elif key in _PLACES and kind is int and -_LARGEST <= value <= _LARGEST:
            numbers[key] = value
        elif key == "args" and kind is dict:
            members[key] = rest = {}
            for name, entry in value.items():
                if name in _IDS and type(entry) is int and -_LARGEST <= entry <= _LARGEST:
                    numbers[name] = entry
                else:
                    rest[name] = entry
        else:
            members[key] = value
    begin = times.get("ts", NONE)
    if begin == NONE and "dur" in times:
        members["dur"] = event["dur"]
    events.add(
        texts.get("ph", ""), texts.get("cat"), texts.get("name"), begin,
        begin + times["dur"] if begin != NONE and "dur" in times else NONE,
        record=record, process=numbers.get("pid", NONE), thread=numbers.get("tid", NONE),
        correlation=numbers.get("correlation", NONE), external=numbers.get("External id", NONE),
        members=members or None,
    )  # fmt: skip


def execution_members(event: Mapping[str, Any], device: int, stream: int) -> str | None:
    """Return what no column of `gpu_kernels` has of an execution's event, as a JSON object.

    Args:
        event: The event.
        device: Its column `device`, which a converter gives back as its `pid`.
        stream: Its column `stream`, which a converter gives back as its `tid`.

    """
    args = {
        key: value
        for key, value in mapping(event.get("args")).items()
        if not (key in _INTEGERS and type(value) is int)
        and not (key in _GRAPHS and type(value) is int and value)
        and not (key in _SIZES and _is_size(value))
    }
    members = {
        key: value
        for key, value in event.items()
        if key not in ("ph", "name", "ts", "dur", "args")
        and not (key == "cat" and value in _CATEGORIES)
        and not (key == "pid" and value == device)
        and not (key == "tid" and value == stream)
    }
    if args:
        members["args"] = args
    return json_text(members) if members else None


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(type(size) is int for size in value)
