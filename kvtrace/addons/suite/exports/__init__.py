"""Exports of suites: `calls.py` reads the calls, `program.py` writes the code that launches them.

Each format has a module of its name, registered in the group `suite_exports`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.addons.suite.exports.calls import Call, read_calls
from kvtrace.addons.suite.model import read_index
from kvtrace.converters.registry import Conversion, load_named
from kvtrace.schema.errors import BadSetting, KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.suite.model import Suite


_GROUP = "suite_exports"


@runtime_checkable
class Export(Protocol):
    """Interface of exports, each of which writes a suite in the format of another tool."""

    @property
    def summary(self) -> str:
        """Description in one line."""

    def write(self, suite: Suite, calls: list[Call], output: Path) -> Iterable[str]:
        """Write files to the empty folder `output`, and return sentences about what they lack.

        Args:
            suite: the index.
            calls: those that can be exported, in the order of the index.
            output: where to write.
        """


def export_names() -> tuple[str, ...]:
    """Return the names of all exports."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries(_GROUP)))


def export_suite(folder: Path, name: str, output: Path) -> Conversion:
    """Write a suite in the format of another tool to a new or empty folder.

    Raises:
        BadSuite: the folder is no suite, or is damaged.
        BadSetting: there is no such format, no call can be exported, or the folder of the output
            is not empty or cannot be written.
    """
    export = _load(name)
    suite = read_index(folder)
    calls, notes = _exportable(read_calls(suite, folder))
    if not calls:
        raise BadSetting(f"no call of {folder} can be exported: {'; '.join(notes)}")
    with new_folder(output) as temporary:
        notes += export.write(suite, calls, temporary)
        written = [file.relative_to(temporary) for file in _files(temporary)]
    return Conversion(tuple(output / file for file in written), tuple(notes))


@contextmanager
def new_folder(output: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes `output` if the block succeeds.

    Raises:
        BadSetting: `output` is a file or not empty, or cannot be written.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise BadSetting(f"{output} is not an empty folder; name another one with -o")
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".kvtrace-", dir=output.absolute().parent) as made:
            temporary = Path(made, "folder")
            temporary.mkdir()
            yield temporary
            if output.exists():
                output.rmdir()
            temporary.rename(output)
    except OSError as problem:
        raise BadSetting(f"cannot write {output}: {problem.strerror or problem}") from problem


def _load(name: str) -> Export:
    export = load_named(_GROUP, "format", name, export_names())
    if not isinstance(export, Export):
        raise BadSetting(
            f"the export {name!r} is a {type(export).__name__} without summary and write(): "
            "correct or remove the package that registers it"
        )
    return export


def _exportable(calls: Iterable[Call]) -> tuple[list[Call], list[str]]:
    """Return the calls that other tools can launch, and sentences about those that they cannot."""
    kept, notes = [], []
    for call in calls:
        reason = _why_not(call)
        if reason is None:
            kept.append(call)
        else:
            notes.append(f"{call.entry.name} is left out: {reason}")
    return kept, notes


def _why_not(call: Call) -> str | None:
    if call.data.code.stage not in ("ttir", "ttgir"):
        return "it is launched from Python source; make the suite without --source"
    try:
        written = any(storage.written for storage in call.used)
    except KvtraceError as error:
        return f"its IR cannot be read ({error})"
    except ImportError:
        raise BadSetting(
            "an export has to know what kernels write, for which Triton reads their IR: pip "
            "install triton"
        ) from None
    return None if written else "its kernel writes to no argument, so it has no result"


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
