"""Suites made from recorded runs: the heaviest calls, as files that launch them again."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.addons.suite.choice import WeighedCall, WeighedCalls, weighed_calls
from kvtrace.addons.suite.model import (
    CALLS,
    CONTENTS,
    INDEX,
    KERNELS,
    VERSION,
    Entry,
    LeftOut,
    Origin,
    Suite,
    write_index,
)
from kvtrace.addons.suite.readme import readme
from kvtrace.converters.findings.invocation import invocation
from kvtrace.converters.scripts.repro import Repro, repro_of_call
from kvtrace.converters.scripts.repro_text import call_lines, code_literal, launching_text
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.schema.errors import BadSetting
from kvtrace.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection

#: The most files of a suite, contents not counted.
MOST_FILES: Final = 200
#: Files besides those of calls and kernels.
_OTHER_FILES: Final = 4
_SCRIPTS: Final = ("launching.py", "run.py")
#: Characters of a kernel's name in the name of a file.
_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a suite should have.

    Attributes:
        share: of the run's weight that the calls should add up to, above 0 to 1.
        part: of the runs whose launches count.
        source: whether calls are launched from the kernel's Python source rather than its IR.
        limit_bytes: storages larger than this have no recorded contents in the suite.
    """

    share: float = 0.95
    part: RequestedPart = STEADY
    source: bool = False
    limit_bytes: int = 64 << 20


@dataclass(slots=True)
class _Chosen:
    """The calls of an entry: the data of the first, and all of them, heaviest first."""

    repro: Repro
    calls: list[WeighedCall] = field(default_factory=list)


def make_suite(selection: Selection, folder: Path, wanted: Wanted = Wanted()) -> Suite:
    """Write a suite of the selected runs to a folder, and return its index.

    A suite that is in the folder already is replaced; other files in it stay.

    Raises:
        BadSetting: nothing was launched, no call can be in a suite, or the folder is not empty and
            no suite, or cannot be written.
    """
    if not 0 < wanted.share <= 1:
        raise BadSetting(f"--share is a number above 0 up to 1, as 0.95, not {wanted.share:g}")
    _check_folder(folder)
    weighed = weighed_calls(selection, wanted.part)
    chosen, left_out = _choose(selection, weighed, wanted)
    if not chosen:
        raise BadSetting(f"no call of {selection.trace.path} can be in a suite: {left_out[0].why}")
    suite = _index(weighed, chosen, left_out)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".kvtrace-") as temporary:
            _write_files(Path(temporary), suite, chosen)
            _publish(Path(temporary), folder)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise BadSetting(f"cannot write {folder}: {reason}") from problem
    return suite


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadSetting(f"{folder} is a file; name a folder for the suite")
    if not folder.absolute().parent.is_dir():
        raise BadSetting(f"the folder {folder.absolute().parent} does not exist; make it first")
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise BadSetting(f"{folder} is not empty, and no suite; name another folder")


# ---- The choice ----


def _choose(
    selection: Selection, weighed: WeighedCalls, wanted: Wanted
) -> tuple[list[_Chosen], list[LeftOut]]:
    """Return the entries' calls up to the wanted share, and what is left out."""
    chosen: list[_Chosen] = []
    reasons: dict[tuple[str, str], int] = {}
    remaining: list[WeighedCall] = []
    covered = 0
    for call in weighed.calls:
        if covered >= wanted.share * weighed.weight or len(chosen) >= MOST_FILES - _OTHER_FILES:
            remaining.append(call)
            continue
        try:
            repro = repro_of_call(
                selection.trace, call.run, call.call_id, wanted.source, wanted.limit_bytes
            )
        except BadSetting as problem:
            key = call.kernel, _without_call(str(problem), call)
            reasons[key] = reasons.get(key, 0) + call.weight
            continue
        chosen.append(_Chosen(repro, [call]))
        covered += call.weight
    left_out = [
        LeftOut(kernel, weight / weighed.weight, why) for (kernel, why), weight in reasons.items()
    ]
    if remaining:
        share = sum(call.weight for call in remaining) / weighed.weight
        left_out.append(LeftOut(plural(len(remaining), "lighter call"), share, _why_left(wanted)))
    return chosen, left_out


def _why_left(wanted: Wanted) -> str:
    return (
        f"the calls before them are {100 * wanted.share:g} % of the weight, or as many as fit into "
        f"{MOST_FILES} files"
    )


def _without_call(text: str, call: WeighedCall) -> str:
    """Return a sentence without the number of its call, so that it is the same for all calls."""
    return text.replace(f"call {call.call_id} of kernel {call.kernel}", f"kernel {call.kernel}")


# ---- The index ----


def _index(weighed: WeighedCalls, chosen: list[_Chosen], left_out: Iterable[LeftOut]) -> Suite:
    width = len(str(len(chosen)))
    entries = tuple(
        _entry(f"{number:0{max(3, width)}}-{_file_name(one.repro.kernel)}", one, weighed)
        for number, one in enumerate(chosen, 1)
    )
    return Suite(
        version=VERSION,
        source=_source(chosen[0].repro.run, weighed),
        weighed_by=weighed.weighed_by,
        weight=weighed.weight,
        device_ns=weighed.device_ns,
        entries=entries,
        left_out=tuple(left_out),
    )


def _entry(name: str, chosen: _Chosen, weighed: WeighedCalls) -> Entry:
    repro, calls = chosen.repro, chosen.calls
    times = [call.device_ns for call in calls if call.device_ns is not None]
    inputs: dict[str, Origin] = {
        storage: "random" if memory.contents is None else "recorded"
        for storage, memory in repro.storages.items()
    }
    return Entry(
        name=name,
        kernel=repro.kernel,
        title=invocation(repro.kernel, repro.grid, repro.rows) or repro.kernel,
        calls=tuple(f"{call.run.run_id}/{call.call_id}" for call in calls),
        launches=sum(call.launches for call in calls),
        device_ns=sum(times) if times else None,
        median_ns=calls[0].median_ns,
        share=sum(call.weight for call in calls) / weighed.weight,
        inputs=inputs,
        notes=repro.notes,
    )


def _source(run: Run, weighed: WeighedCalls) -> dict[str, str]:
    """Return what a reader has to know of the recorded run, by name."""
    commit = run.git_commit and f"{run.git_commit}{' with changes' if run.git_dirty else ''}"
    devices = dict.fromkeys(str(device["name"]) for device in run.devices if device["name"])
    facts = {
        "command": run.command,
        "commit": commit,
        "device": ", ".join(devices),
        "part": weighed.part,
        "runs": ", ".join(dict.fromkeys(call.run.run_id for call in weighed.calls)),
        **{name: run.versions.get(name) for name in ("triton", "torch", "python", "cuda")},
    }
    return {name: printable(fact) for name, fact in facts.items() if fact}


# ---- The files ----


def _write_files(folder: Path, suite: Suite, chosen: list[_Chosen]) -> None:
    """Write all files of a suite to an empty folder. Raises OSError."""
    for name in (CALLS, KERNELS, CONTENTS):
        (folder / name).mkdir()
    codes = _code_files([one.repro for one in chosen])
    for name, text in codes.values():
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
    if len(repros) + len(texts) + _OTHER_FILES > MOST_FILES:
        return {}
    code_files: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    for repro in repros:
        text = repro.code.text
        if text is None or text in code_files:
            continue
        suffix = "py" if repro.code.stage == "source" else repro.code.stage
        base, number = _file_name(repro.kernel), 1
        while (name := base if number == 1 else f"{base}-{number}") in taken:
            number += 1
        taken.add(name)
        code_files[text] = f"{KERNELS}/{name}.{suffix}", text
    return code_files


def _call_text(entry: Entry, repro: Repro, code: str) -> str:
    title = entry.title.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    data = "\n".join(call_lines(repro, code, with_contents=False))
    return f'"""{title}"""\n\nfrom launching import Call, Descriptor, Storage, Tensor\n\n{data}\n'


def _file_name(kernel: str) -> str:
    return re.sub(r"\W", "_", kernel, flags=re.ASCII)[:_NAME_LENGTH]


def _publish(made: Path, folder: Path) -> None:
    """Move a made suite's files to its folder, in place of those of an earlier suite."""
    folder.mkdir(exist_ok=True)
    for path in sorted(made.iterdir()):
        target = folder / path.name
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)
