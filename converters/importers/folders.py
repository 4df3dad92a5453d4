"""Files of a folder that tools wrote: those of the ranks of a job, for `kvtrace import folder/`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kvtrace.converters.importers.importing import head_of
from kvtrace.converters.importers.registry import BadSource, importer_names, load_importer

#: rocprofv3's names of one process's files, by what precedes this ending; the first of these
#: formats has all that the others have.
_FORMATS: Final = (
    re.compile(r"_results\.db$"),
    re.compile(r"_results\.json$"),
    re.compile(r"_results\.pftrace$"),
    re.compile(r"_(kernel|memory_copy)_trace\.csv$"),
)
_NUMBER: Final = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files to import, in the order of the numbers in their names, and files of no known tool.

    `repeated` lists files whose content another file of the same process has, too.
    """

    files: tuple[Path, ...]
    unknown: tuple[Path, ...] = ()
    repeated: tuple[Path, ...] = ()


def source_files(paths: Sequence[Path], tool: str | None) -> SourceFiles:
    """Return the files to import: `paths`, with each folder replaced by a tool's files below it.

    A folder that a tool writes as one export stays. Hidden files are ignored. Of files in which
    rocprofv3 repeats a process in several formats, one format is chosen.

    Args:
        paths: Files and folders.
        tool: The importer to ask about the files of folders; None: all.

    Raises:
        BadSource: a folder has no file that is recognized, or one of its files cannot be read.
        BadSetting: there is no importer of that name.

    """
    files: list[Path] = []
    unknown: list[Path] = []
    repeated: list[Path] = []
    for path in paths:
        if not path.is_dir() or _is_known(path, tool):
            files.append(path)
            continue
        below = _files_below(path)
        repeated_here = _repeated(below)
        known = [each for each in below if each not in repeated_here and _is_known(each, tool)]
        if not known:
            raise BadSource(
                f"{path} has no file of {tool or 'a tool that kvtrace imports'} "
                f"({', '.join(importer_names())} are known): name another folder, or the files"
            )
        files += known
        repeated += repeated_here
        unknown += sorted(set(below) - set(known) - repeated_here)
    return SourceFiles(tuple(files), tuple(unknown), tuple(repeated))


def _files_below(folder: Path) -> list[Path]:
    """Return the regular files below a folder, so that `rank10` comes after `rank2`."""
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )
    return sorted(files, key=_parts_with_numbers)


def _parts_with_numbers(path: Path) -> list[str | int]:
    parts = _NUMBER.split(str(path))  # texts and numbers in turn
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _is_known(path: Path, tool: str | None) -> bool:
    """Return whether an importer recognizes a file or a folder: `tool`, or any if it is None."""
    head = head_of(path)
    names = importer_names() if tool is None else (tool,)
    return any(load_importer(name).recognizes(path, head) for name in names)


def _repeated(files: Sequence[Path]) -> set[Path]:
    """Return the files of rocprofv3 whose process another file describes as well or better."""
    best: dict[Path, int] = {}
    formats: dict[Path, tuple[Path, int]] = {}
    for path in files:
        for order, ending in enumerate(_FORMATS):
            match = ending.search(path.name)
            if match is not None:
                process = path.with_name(path.name[: match.start()] or "_")
                formats[path] = process, order
                best[process] = min(best.get(process, order), order)
    return {path for path, (process, order) in formats.items() if order > best[process]}
