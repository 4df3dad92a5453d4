"""Which converters there are, and the one interface that all have.

A built-in converter is a line in `BUILT_IN`; another package adds its own under the entry point
group `kvtrace.converters`, as `name = "module:OBJECT"`. A converter's module is imported only when
it is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.schema.trace import Selection
from kvtrace.text import printable, size

ENTRY_POINT_GROUP: Final = "kvtrace.converters"

BUILT_IN: Final[dict[str, str]] = {
    "perfetto": "kvtrace.converters.perfetto:CONVERTER",
    "chrome": "kvtrace.converters.chrome:CONVERTER",
    "csv": "kvtrace.converters.csv:CONVERTER",
    "report": "kvtrace.converters.report:CONVERTER",
    "stablehlo": "kvtrace.converters.stablehlo:CONVERTER",
    "repro": "kvtrace.converters.repro_text:CONVERTER",
    "warmup": "kvtrace.converters.warmup:CONVERTER",
}


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
    """Every name that `load_converter` knows, built-in ones first."""
    plugins = sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))
    return tuple(dict.fromkeys([*BUILT_IN, *plugins]))


def load_converter(name: str) -> Converter:
    """Import one converter.

    Raises:
        BadSetting: there is none of that name, or what a plugin registers is no converter.

    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _checked(name, getattr(import_module(module), attribute))
    plugins: list[EntryPoint] = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if not plugins:
        known = ", ".join(converter_names())
        like = nearest(name, converter_names())
        raise BadSetting(f"there is no converter {name!r}{like}; choose one of {known}.")
    return _checked(name, plugins[0].load())


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
