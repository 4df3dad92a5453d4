"""Files of a suite: calls as data, kernels, contents, and what launches them."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.addons.suite.model import CALLS, CONTENTS, INDEX, KERNELS, write_index
from kvtrace.addons.suite.running import STANDALONE
from kvtrace.converters.scripts.repro_text import call_lines, code_literal, launching_text
from kvtrace.schema.errors import BadSetting
from kvtrace.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kvtrace.addons.suite.model import Entry, Suite
    from kvtrace.converters.scripts.repro import Repro

#: The most files of a suite, contents not counted.
MOST_FILES: Final = 200
#: Files besides those of calls and kernels.
OTHER_FILES: Final = 8
#: Columns of a call's description.
_WIDTH: Final = 100
#: Characters of a kernel's name in the name of a file.
_NAME_LENGTH: Final = 60
#: Forms of code that are Python modules.
_PYTHON: Final = ("source", "function")


def write_suite(
    folder: Path,
    suite: Suite,
    repros: Sequence[Repro],
    about: str,
    source_of: Callable[[int], str | None] = lambda _number: None,
) -> None:
    """Write a suite to a folder; one that is there is replaced, and other files stay.

    Args:
        folder: of the suite.
        suite: its index.
        repros: the data of each entry.
        about: text of the README.md.
        source_of: returns the recorded source of an entry's kernel by the entry's number, from 0.

    Raises:
        BadSetting: the folder is not empty and no suite, or cannot be written.
    """
    check_folder(folder)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".kvtrace-") as temporary:
            _write_files(Path(temporary), suite, repros, source_of)
            (Path(temporary) / "README.md").write_text(about, encoding="utf-8")
            _publish(Path(temporary), folder)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise BadSetting(f"cannot write {folder}: {reason}") from problem


def check_folder(folder: Path) -> None:
    """Raise BadSetting if a suite cannot be written to a folder."""
    if folder.exists() and not folder.is_dir():
        raise BadSetting(f"{folder} is a file; name a folder for the suite")
    if not folder.absolute().parent.is_dir():
        raise BadSetting(f"the folder {folder.absolute().parent} does not exist; make it first")
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise BadSetting(f"{folder} is not empty, and no suite; name another folder")


def _write_files(
    folder: Path, suite: Suite, repros: Sequence[Repro], source_of: Callable[[int], str | None]
) -> None:
    """Write all files of a suite but README.md to an empty folder. Raises OSError."""
    for name in (CALLS, KERNELS, CONTENTS):
        (folder / name).mkdir()
    codes = _code_files(repros)
    for name, text in codes.values():
        (folder / name).write_text(text, encoding="utf-8")
    for name, text in _source_files(repros, codes, source_of).items():
        (folder / name).write_text(text, encoding="utf-8")
    for entry, repro in zip(suite.entries, repros, strict=True):
        code = codes.get(repro.code.text or "")
        text = _call_text(entry, repro, code_literal(repro.code) if code is None else repr(code[0]))
        (folder / CALLS / f"{entry.name}.py").write_text(text, encoding="utf-8")
        for sha256, compressed in repro.contents.items():
            (folder / CONTENTS / f"{sha256}.zlib").write_bytes(compressed)
    (folder / "launching.py").write_text(launching_text(), encoding="utf-8")
    for name in STANDALONE:
        module = files("kvtrace.addons.suite").joinpath(name)
        (folder / name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
    write_index(suite, folder)


def _code_files(repros: Sequence[Repro]) -> dict[str, tuple[str, str]]:
    """Return the files of kernels by their code: name and text; none where code is inline.

    With a file for each call and each kernel, some suites would have more than `MOST_FILES`: the
    code is then in the calls' files.
    """
    texts = dict.fromkeys(repro.code.text for repro in repros if repro.code.text is not None)
    if len(repros) + len(texts) + OTHER_FILES > MOST_FILES:
        return {}
    code_files: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    for repro in repros:
        text = repro.code.text
        if text is None or text in code_files:
            continue
        suffix = "py" if repro.code.stage in _PYTHON else repro.code.stage
        base, number = file_name(repro.kernel), 1
        while (name := base if number == 1 else f"{base}-{number}") in taken:
            number += 1
        taken.add(name)
        code_files[text] = f"{KERNELS}/{name}.{suffix}", text
    return code_files


def _source_files(
    repros: Sequence[Repro],
    codes: Mapping[str, tuple[str, str]],
    source_of: Callable[[int], str | None],
) -> dict[str, str]:
    """Return the recorded source of kernels beside their IR; none if there would be too many files.

    It is for readers: what is launched is the IR.
    """
    sources: dict[str, str] = {}
    for number, repro in enumerate(repros):
        code = codes.get(repro.code.text or "")
        if code is None or repro.code.stage in _PYTHON:
            continue
        name = f"{code[0].rpartition('.')[0]}.py"
        if name not in sources:
            text = source_of(number)
            if text is not None:
                sources[name] = text
    fits = len(repros) + len(codes) + len(sources) + OTHER_FILES <= MOST_FILES
    return sources if fits else {}


def _call_text(entry: Entry, repro: Repro, code: str) -> str:
    paragraphs = ["\n".join(wrapped(text, _WIDTH)) for text in (entry.title, *entry.notes)]
    title = "\n\n".join(paragraphs).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    data = "\n".join(call_lines(repro, code, with_contents=False))
    names = ("Call", "Descriptor", "Drawn", "Storage", "Tensor")
    classes = [name for name in names if f"{name}(" in data]
    modules = [
        f"import {name}\n" for name in ("torch", "triton") if re.search(rf"\b{name}\.", data)
    ]
    imports = f"{''.join(modules)}from launching import {', '.join(classes)}"
    return f'"""{title}"""\n\n{imports}\n\n{data}\n'


def file_name(kernel: str) -> str:
    """Return a kernel's name as it is in names of files."""
    return re.sub(r"\W", "_", kernel, flags=re.ASCII)[:_NAME_LENGTH]


def _publish(made: Path, folder: Path) -> None:
    """Move a made suite's files to its folder, in place of those of an earlier suite.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(exist_ok=True)
    for name in (CALLS, KERNELS, CONTENTS):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in sorted(made.iterdir()):
        if path.is_file() or any(path.iterdir()):
            path.replace(folder / path.name)
