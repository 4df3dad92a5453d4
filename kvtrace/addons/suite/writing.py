"""Files of a suite: calls as data, kernels, contents, and what launches them."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.addons.suite.model import CALLS, CONTENTS, KERNELS, write_index
from kvtrace.addons.suite.readme import readme
from kvtrace.converters.scripts.repro_text import call_lines, code_literal, launching_text
from kvtrace.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.suite.choice import ChosenCalls
    from kvtrace.addons.suite.model import Entry, Suite
    from kvtrace.addons.suite.rows import CallRows
    from kvtrace.converters.scripts.repro import Repro

#: The most files of a suite, contents not counted.
MOST_FILES: Final = 200
#: Files besides those of calls and kernels.
OTHER_FILES: Final = 4
#: Columns of a call's description.
_WIDTH: Final = 100
#: Characters of a kernel's name in the name of a file.
_NAME_LENGTH: Final = 60


def write_files(folder: Path, rows: CallRows, suite: Suite, chosen: list[ChosenCalls]) -> None:
    """Write all files of a suite to an empty folder. Raises OSError."""
    for name in (CALLS, KERNELS, CONTENTS):
        (folder / name).mkdir()
    codes = _code_files([one.repro for one in chosen])
    for name, text in codes.values():
        (folder / name).write_text(text, encoding="utf-8")
    for name, text in _source_files(rows, chosen, codes).items():
        (folder / name).write_text(text, encoding="utf-8")
    for entry, one in zip(suite.entries, chosen, strict=True):
        code = codes.get(one.repro.code.text or "")
        text = _call_text(
            entry, one.repro, code_literal(one.repro.code) if code is None else repr(code[0])
        )
        (folder / CALLS / f"{entry.name}.py").write_text(text, encoding="utf-8")
        for sha256, compressed in one.repro.contents.items():
            (folder / CONTENTS / f"{sha256}.zlib").write_bytes(compressed)
    (folder / "launching.py").write_text(launching_text(), encoding="utf-8")
    runner = files("kvtrace.addons.suite").joinpath("run.py")
    (folder / "run.py").write_text(runner.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "README.md").write_text(readme(suite), encoding="utf-8")
    write_index(suite, folder)


def _code_files(repros: list[Repro]) -> dict[str, tuple[str, str]]:
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
        suffix = "py" if repro.code.stage == "source" else repro.code.stage
        base, number = file_name(repro.kernel), 1
        while (name := base if number == 1 else f"{base}-{number}") in taken:
            number += 1
        taken.add(name)
        code_files[text] = f"{KERNELS}/{name}.{suffix}", text
    return code_files


def _source_files(
    rows: CallRows, chosen: list[ChosenCalls], codes: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Return the recorded source of kernels beside their IR; none if there would be too many files.

    It is for readers: what is launched is the IR.
    """
    sources: dict[str, str] = {}
    for one in chosen:
        code = codes.get(one.repro.code.text or "")
        if code is None or one.repro.code.stage == "source":
            continue
        name = f"{code[0].rpartition('.')[0]}.py"
        if name not in sources:
            text = rows.source(one.calls[0])
            if text is not None:
                sources[name] = text
    fits = len(chosen) + len(codes) + len(sources) + OTHER_FILES <= MOST_FILES
    return sources if fits else {}


def _call_text(entry: Entry, repro: Repro, code: str) -> str:
    paragraphs = ["\n".join(wrapped(text, _WIDTH)) for text in (entry.title, *entry.notes)]
    title = "\n\n".join(paragraphs).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    data = "\n".join(call_lines(repro, code, with_contents=False))
    classes = [name for name in ("Call", "Descriptor", "Storage", "Tensor") if f"{name}(" in data]
    return f'"""{title}"""\n\nfrom launching import {", ".join(classes)}\n\n{data}\n'


def file_name(kernel: str) -> str:
    """Return a kernel's name as it is in names of files."""
    return re.sub(r"\W", "_", kernel, flags=re.ASCII)[:_NAME_LENGTH]


def publish(made: Path, folder: Path) -> None:
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
