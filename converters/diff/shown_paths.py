"""Paths in review comments: relative to the project's folder, never absolute."""

import os
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

_Data = TypeVar("_Data")

#: An absolute path with two or more parts.
_PATH: Final = re.compile(r"(?<![\w.:/~-])/(?:[\w.+@=~-]+/)+[\w.+@=~-]*")
#: Paths below these folders are the same on every machine.
_SAME_ELSEWHERE: Final = ("/site-packages/", "/dist-packages/")
#: Shown parts of a path outside the project.
_PARTS: Final = 2
#: Fields that no comment shows.
_NOT_SHOWN: Final = frozenset({"whole", "all_lines", "artifacts"})


def folders_of(sides: Sequence["Selection"]) -> tuple[str, ...]:
    """Return the folders that paths are relative to: the current one, and the runs' checkouts."""
    roots = {run.git_root for side in sides for run in side.runs if run.git_root}
    return tuple(dict.fromkeys((os.getcwd(), *sorted(roots))))  # noqa: PTH109 - text is wanted


def with_shown_paths(data: _Data, folders: Sequence[str]) -> _Data:
    """Return a copy of frozen dataclasses in tuples, without absolute paths in texts."""
    return _mapped(data, folders)  # type: ignore[no-any-return]


def _mapped(data: Any, folders: Sequence[str]) -> Any:
    if isinstance(data, str):
        return _PATH.sub(lambda match: _shown(match[0], folders), data) if "/" in data else data
    if isinstance(data, tuple):
        return tuple(_mapped(item, folders) for item in data)
    if not is_dataclass(data) or isinstance(data, type):
        return data
    shown = {
        field.name: _mapped(value, folders)
        for field in fields(data)
        if field.name not in _NOT_SHOWN and _has_text(value := getattr(data, field.name))
    }
    return replace(data, **shown)


def _has_text(value: object) -> bool:
    return isinstance(value, str | tuple) or (is_dataclass(value) and not isinstance(value, type))


def _shown(path: str, folders: Sequence[str]) -> str:
    for folder in folders:
        if path.startswith(f"{folder.rstrip('/')}/"):
            return path[len(folder.rstrip("/")) + 1 :] or "."
    for folder in _SAME_ELSEWHERE:
        if folder in path:
            return path.rpartition(folder)[2]
    parts = path.strip("/").split("/")
    return "/".join(("…", *parts[-_PARTS:])) if len(parts) > _PARTS else "/".join(("…", parts[-1]))
