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
#: Members of an event that have a column wherever their value has its type.
_TEXTS: Final = frozenset({"ph", "cat", "name"})


def add_event(events: EventRows, event: Mapping[str, Any], record: int) -> None:
    """Add an event that is not an execution to `events`; `record` is its number in the file.

    Raises ValueError if one of its times is not a number of µs.
    """
    begin = end = NONE
    members, args = dict(event), event.get("args")
    phase, category, name = (text(members.get(key)) for key in ("ph", "cat", "name"))
    for key in _TEXTS:
        if text(members.get(key)) == members.get(key):
            members.pop(key, None)
    if "ts" in members:
        begin = nanoseconds(members.pop("ts"))
        if "dur" in members and phase == "X":
            end = begin + nanoseconds(members.pop("dur"))
    places = {key: _pop_integer(members, key) for key in ("pid", "tid")}
    correlation = external = NONE
    if isinstance(args, dict):
        members["args"] = args = dict(args)
        correlation = _pop_integer(args, "correlation")
        external = _pop_integer(args, "External id")
    events.add(
        phase or "", category, name, begin, end, record=record, process=places["pid"],
        thread=places["tid"], correlation=correlation, external=external,
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


def _pop_integer(members: dict[str, Any], key: str) -> int:
    """Remove and return an integer; NONE, and nothing removed, if the value is no such."""
    value = members.get(key)
    if type(value) is not int or not -(2**63) < value < 2**63:
        return NONE
    del members[key]
    return value
