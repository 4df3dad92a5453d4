"""Which converters there are, and the one interface that all have.

A converter is an entry point of the group `kvtrace.converters`, as `name = module:OBJECT`. Its
module is imported only when it is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.schema.trace import Selection
from kvtrace.text import printable, size


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a converter wrote: the files, and sentences on what they hold and what was left out.

    `differences` are what a check found in them that is not as in the tables.
    """

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of all files together, in bytes."""
        return sum(file.stat().st_size for file in self.files)

    def __repr__(self) -> str:
        files = (f"{file} ({size(file.stat().st_size)})" for file in self.files if file.exists())
        written = f"wrote {', '.join(files) or 'no file that is still there'}"
        return "\n".join(map(printable, (written, *self.notes, *self.differences)))


@runtime_checkable
class Converter(Protocol):
    """Tables in, files out."""

    @property
    def summary(self) -> str:
        """One line for `kvtrace convert --help`."""

    @property
    def default_output(self) -> str:
        """File name to write when the user names none, such as `trace.perfetto-trace`."""

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the selected runs to `output`, which appears whole or not at all.

        `settings` are the converter's own; an unknown one raises `BadSetting`.
        """


def converter_names() -> tuple[str, ...]:
    """Every name that `load_converter` knows, built-in ones first, other packages' by name."""
    plugins = sorted(entry.name for entry in registry.installed_entries("converters"))
    ours = (entry.name for entry in registry.own_entries("converters"))
    return tuple(dict.fromkeys([*ours, *plugins]))


def load_converter(name: str) -> Converter:
    """Import one converter.

    Raises:
        BadSetting: there is none of that name, or what a plugin registers is not converter.

    """
    entry = registry.entry("converters", name)
    if entry is None:
        known = ", ".join(converter_names())
        like = nearest(name, converter_names())
        raise BadSetting(f"there is no converter {name!r}{like}; choose one of {known}.")
    return _checked(name, entry.load())


def reject_unknown_settings(name: str, settings: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise BadSetting for the first setting that a converter does not have."""
    for setting in settings:
        if setting in known:
            continue
        choices = f"it has {', '.join(known)}" if known else "it has none"
        like = nearest(setting, known)
        raise BadSetting(f"the converter {name} has no setting {setting!r}{like}; {choices}.")


def _checked(name: str, candidate: object) -> Converter:
    if isinstance(candidate, Converter):
        return candidate
    raise BadSetting(
        f"the converter {name!r} is a {type(candidate).__name__} without summary, "
        "default_output and convert(); correct or remove the package that registers it."
    )
