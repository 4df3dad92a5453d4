"""Which importers there are, and the interface that all have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.converters.importers.rows import RunRows
from kvtrace.schema.errors import BadSetting, KvtraceError, nearest


class BadSource(KvtraceError):
    """A file of another tool cannot be read: truncated, or not what the importer reads."""

    slug = "bad-source"


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """What a source says of one process, without its rows.

    Attributes:
        row: Columns of `runs`.
        lacks: What the tool does not say, a sentence each; they become rows of `messages`.

    """

    row: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()


@runtime_checkable
class Importer(Protocol):
    """Files of one tool in, rows of runs out."""

    @property
    def summary(self) -> str:
        """One line for `kvtrace import --help`."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Whether a file or folder is the tool's; `head` is its unpacked beginning."""

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of a process, and yield what is known of it; then those of the next.

        Raises:
            BadSource: the file is not what the tool writes.

        """


def importer_names() -> tuple[str, ...]:
    """Return every name that `load_importer` knows."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries("importers")))


def load_importer(name: str) -> Importer:
    """Import one importer.

    Raises:
        BadSetting: there is none of that name, or what a plugin registers is not an importer.

    """
    entry = registry.entry("importers", name)
    if entry is None:
        known, like = ", ".join(importer_names()), nearest(name, importer_names())
        raise BadSetting(f"there is no importer {name!r}{like}; choose one of {known}.")
    found = entry.load()
    if not isinstance(found, Importer):
        raise BadSetting(
            f"the importer {name!r} is a {type(found).__name__} without summary, recognizes() and "
            "read(); correct or remove the package that registers it."
        )
    return found


def importer_of(path: Path, head: bytes) -> str:
    """Return the name of the importer that recognizes a file.

    Raises:
        BadSource: none does.

    """
    for name in importer_names():
        if load_importer(name).recognizes(path, head):
            return name
    raise BadSource(
        f"{path} is of no tool that kvtrace imports ({', '.join(importer_names())}); name the tool "
        "before the file if it is."
    )
