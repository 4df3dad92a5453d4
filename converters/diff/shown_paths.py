"""Replacement of absolute paths in review comments, by paths relative to the project."""

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
#: Folders of installed packages; paths below them are the same on every machine.
_SAME_ELSEWHERE: Final = ("/site-packages/", "/dist-packages/")
#: Number of last parts shown of a path outside the project.
_PARTS: Final = 2
#: Fields that no comment shows.
_NOT_SHOWN: Final = frozenset({"whole", "all_lines", "artifacts"})


def path_roots(sides: Sequence["Selection"]) -> tuple[str, ...]:
    """Return the folders that paths are made relative to: the current one, then runs' checkouts."""
    roots = {run.git_root for side in sides for run in side.runs if run.git_root}
    return tuple(dict.fromkeys((os.getcwd(), *sorted(roots))))  # noqa: PTH109 - text is wanted


def with_shown_paths(data: _Data, folders: Sequence[str]) -> _Data:
    """Return a copy of `data` (frozen dataclasses, tuples, texts) with relative paths in its texts.

    Fields that no comment shows are left unchanged.
    """
    return _with_relative_paths(data, folders)  # type: ignore[no-any-return]


def _with_relative_paths(data: Any, folders: Sequence[str]) -> Any:
    if isinstance(data, str):
        return (
            _PATH.sub(lambda match: _relative_path(match[0], folders), data)
            if "/" in data
            else data
        )
    if isinstance(data, tuple):
        return tuple(_with_relative_paths(item, folders) for item in data)
    if not is_dataclass(data) or isinstance(data, type):
        return data
    replaced_fields = {
        field.name: _with_relative_paths(value, folders)
        for field in fields(data)
        if field.name not in _NOT_SHOWN and _has_text(value := getattr(data, field.name))
    }
    return replace(data, **replaced_fields)


def _has_text(value: object) -> bool:
    return isinstance(value, str | tuple) or (is_dataclass(value) and not isinstance(value, type))


def _relative_path(path: str, folders: Sequence[str]) -> str:
    for folder in folders:
        if path.startswith(f"{folder.rstrip('/')}/"):
            return path[len(folder.rstrip("/")) + 1 :] or "."
    for folder in _SAME_ELSEWHERE:
        if folder in path:
            return path.rpartition(folder)[2]
    parts = path.strip("/").split("/")
    return "/".join(("…", *parts[-_PARTS:])) if len(parts) > _PARTS else "/".join(("…", parts[-1]))
