"""Registry of converters, and their interface.

A converter is an entry point `name = module:OBJECT` of the group `kvtrace.converters`. Its module
is imported when the converter is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.text import printable, size

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class Conversion:
    """Result of a converter: the written files, and sentences about their content."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Total size of the files, in bytes."""
        return sum(file.stat().st_size for file in self.files)

    def __repr__(self) -> str:
        files = (f"{file} ({size(file.stat().st_size)})" for file in self.files if file.exists())
        written = f"wrote {', '.join(files) or 'files that were removed since'}"
        return "\n".join(map(printable, (written, *self.notes)))


@runtime_checkable
class Converter(Protocol):
    """Interface of converters, each of which writes a trace's tables to files of one format."""

    @property
    def summary(self) -> str:
        """Description in one line, for `kvtrace convert --help`."""

    @property
    def default_output(self) -> str:
        """File name to write when the user names none, such as `trace.perfetto-trace`."""

    def convert(
        self, selection: "Selection", output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the selected runs to `output`, which appears only when it is complete.

        `settings` are texts by name; an unknown name raises `BadSetting`.
        """


def converter_names() -> tuple[str, ...]:
    """Return the names of all converters: kvtrace's, then those of other packages, sorted."""
    plugins = sorted(entry.name for entry in registry.installed_entries("converters"))
    built_in = (entry.name for entry in registry.own_entries("converters"))
    return tuple(dict.fromkeys([*built_in, *plugins]))


def load_converter(name: str) -> Converter:
    """Import and return a converter.

    Raises:
        BadSetting: no converter has the name, or the registered object is not a converter.

    """
    members = "summary, default_output and convert()"
    converter: Converter = load_named("converter", name, converter_names(), Converter, members)
    return converter


def load_named(noun: str, name: str, names: tuple[str, ...], interface: type, members: str) -> Any:
    """Import and return what a group has under a name that a user gave.

    Args:
        noun: what is loaded; the group of the registry is named by its plural.
        name: what the user named.
        names: those that there are.
        interface: what it must be.
        members: what the interface has, for the message.

    Raises:
        BadSetting: nothing has the name, or it is something else.

    """
    group = f"{noun}s"
    entry = registry.entry(group, name)
    if entry is None:
        like, known = nearest(name, names), ", ".join(names)
        raise BadSetting(f"there is no {noun} {name!r}{like}: choose one of {known}")
    loaded = entry.load()
    if not isinstance(loaded, interface):
        raise BadSetting(
            f"the {noun} {name!r} is a {type(loaded).__name__} without {members}: correct or "
            "remove the package that registers it"
        )
    return loaded


def reject_unknown_settings(name: str, settings: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise BadSetting for the first setting that a converter does not have."""
    for setting in settings:
        if setting in known:
            continue
        choices = f"its settings are {', '.join(known)}" if known else "it has no settings"
        like = nearest(setting, known)
        raise BadSetting(f"the converter {name} has no setting {setting!r}{like}; {choices}")
