"""Judgment of a candidate on calls of a suite, by `kvtrace judge` and the recorded IR as reference.

For each call a folder is made for the reference: the recorded launch as data, and a file with a
function that evaluates it (`reference.py`). `kvtrace judge` then judges the candidate's file in
processes of its own, so that none of the file's code runs here. A kernel without a function that
launches it is judged through a function that is appended to a copy of its file.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Launch
from kvtrace.addons.suite.launches import read_launch
from kvtrace.addons.suite.model import Entry, Suite, read_index
from kvtrace.addons.suite.reducing import reduced
from kvtrace.addons.suite.reference import write_launch
from kvtrace.progress import progress
from kvtrace.text import plural

#: The name of the function that launches a kernel which was given without one.
ENTRY: Final = "launch_recorded_call"
_MOST_BYTES: Final = 1 << 20
_MOST_LISTED: Final = 5
_KERNEL_DECORATORS: Final = frozenset({"jit", "autotune", "heuristics"})
_REFERENCE: Final = '''\
"""{kernel} as it was recorded: its IR, evaluated by kvtrace."""

from pathlib import Path

from kvtrace.addons.suite.reference import Reference

_RECORDED = Reference(Path(__file__).with_name("recorded"))


def reference({names}):
    _RECORDED({names})


def inexact({names}):
    _RECORDED.inexact({names})


def inputs():
    return _RECORDED.inputs()
'''
_LAUNCHER: Final = """


def {entry}({names}):
    {kernel}[{grid}]({arguments})
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function that takes arguments of recorded calls by name, or a kernel with its parameters.

    Attributes:
        file: the file.
        name: the function's or kernel's name.
        parameters: its parameters, in order.
        optional: how many of the last parameters have defaults.
        is_kernel: it is decorated as a kernel, as by `triton.jit`.
    """

    file: Path
    name: str
    parameters: tuple[str, ...]
    optional: int
    is_kernel: bool


@dataclass(frozen=True, slots=True)
class CallJudgment:
    """The judgment of a candidate on a call.

    Attributes:
        call: the name of the suite's entry.
        kernel: the recorded kernel.
        verdict: right, wrong or unjudged.
        reasons: sentences: of a wrong candidate what is wrong, first; of an unjudged one why.
        judged: what was judged, as "84 of 2,048 programs".
        judgment: the object of `kvtrace judge`; {} if it was not asked.
    """

    call: str
    kernel: str
    verdict: str
    reasons: tuple[str, ...] = ()
    judged: str = ""
    judgment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Limits of a judgment, as options of `kvtrace judge`."""

    seconds: float = 120.0
    unconfined: bool = False
    seed: str | None = None


def read_candidate(text: str) -> Candidate:
    """Return the candidate of `FILE:NAME`, by the file's text, which is not run.

    Raises:
        CannotJudgeCall: the file cannot be read, or has no such function.
    """
    path, _, name = text.rpartition(":")
    file = Path(path)
    if not path or not name.isidentifier():
        raise CannotJudgeCall(
            f"the candidate {text!r} is not FILE:FUNCTION, such as new.py:rms_norm"
        )
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise CannotJudgeCall(f"{file} is larger than 1 MiB")
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise CannotJudgeCall(f"{file} cannot be read: {error}") from error
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        names = ", ".join(functions) or "none"
        raise CannotJudgeCall(f"{file} has no function {name!r}; its functions are {names}")
    function = functions[name]
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise CannotJudgeCall(
            f"{file}:{name} has parameters without a name or position; give it those of the "
            "recorded kernel that it needs, by their names"
        )
    parameters = tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args))
    is_kernel = any(_name_of(node) in _KERNEL_DECORATORS for node in function.decorator_list)
    return Candidate(file, name, parameters, len(arguments.defaults), is_kernel)


def _name_of(node: ast.expr) -> str:
    """Return the last name of a decorator: `jit` of `@triton.jit(debug=True)`."""
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def passed_arguments(candidate: Candidate, launch: Launch) -> list[str]:
    """Return the names of a launch's arguments that a candidate takes, in its order.

    Raises:
        CannotJudgeCall: it takes what was not recorded, or leaves out a tensor that the kernel
            reads or writes.
    """
    known = {**launch.arguments, **launch.constants}
    passed: list[str] = []
    for at, name in enumerate(candidate.parameters):
        if name in known:
            passed.append(name)
        elif at < len(candidate.parameters) - candidate.optional:
            raise CannotJudgeCall(
                f"{candidate.name} has a parameter {name}, and the recorded call of "
                f"{launch.kernel} has no argument of that name, only {', '.join(known)}"
            )
    needed = launch.reached(by_stores=True) | launch.reached(by_stores=False)
    missing = [name for name in launch.tensors if name in needed and name not in passed]
    if missing:
        raise CannotJudgeCall(
            f"{candidate.name} does not take {', '.join(missing)}, which {launch.kernel} reads or "
            "writes"
        )
    return passed


def judge_call(
    call: str, launch: Launch, candidate: Candidate, options: JudgeOptions = JudgeOptions()
) -> CallJudgment:
    """Judge a candidate on a call, by `kvtrace judge` in other processes.

    Args:
        call: the name of the suite's entry.
        launch: the recorded launch.
        candidate: the candidate.
        options: limits.
    """
    try:
        smaller = reduced(launch.with_separate_tensors())
        passed = passed_arguments(candidate, smaller)
        smaller.results()  # the reference fails with the same sentence, inside of other sentences
    except CannotJudgeCall as error:
        return CallJudgment(call, launch.kernel, "unjudged", (str(error),))
    with tempfile.TemporaryDirectory(prefix="kvtrace-suite-") as scratch:
        reference, file, entry = _files(Path(scratch), smaller, passed, candidate)
        words = [
            sys.executable, "-m", "kvtrace", "judge", "--json", "--no-views", "--reference",
            f"{reference}:reference", "--entry", entry, "--seconds", f"{options.seconds:g}",
            "--target", launch.target or "cuda:90",
            *(["--unconfined"] if options.unconfined else []),
            *(["--seed", options.seed] if options.seed else []), "--", str(file),
        ]  # fmt: skip
        process = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        judgment = json.loads(process.stdout)
    except ValueError:
        sentence = process.stderr.strip() or f"kvtrace judge ended with {process.returncode}"
        return CallJudgment(call, launch.kernel, "unjudged", (sentence,))
    return CallJudgment(
        call, launch.kernel, judgment["verdict"],
        tuple(_reasons(judgment, str(file), str(candidate.file))),
        _judged_part(launch, smaller), judgment,
    )  # fmt: skip


def judge_suite(
    folder: Path,
    place: str,
    globs: Sequence[str] = (),
    options: JudgeOptions = JudgeOptions(),
) -> Iterator[CallJudgment]:
    """Yield what is known of a candidate on each call of a suite that it is for.

    Args:
        folder: the suite's folder.
        place: the candidate, as `FILE:FUNCTION`.
        globs: names of calls, with `*` and `?`; without one the calls of the kernel with the
            candidate's name.
        options: limits.

    Raises:
        BadSuite: the folder is no suite.
        CannotJudgeCall: the candidate cannot be read, or it is not known which calls it is for.
    """
    suite = read_index(folder)
    candidate = read_candidate(place)
    entries = entries_for(suite, candidate, globs)
    with progress(f"suite judge {candidate.name}") as report:
        for number, entry in enumerate(entries, start=1):
            try:
                launch = read_launch(folder, entry.name, suite.source.get("triton"))
            except CannotJudgeCall as error:
                judgment = CallJudgment(entry.name, entry.kernel, "unjudged", (str(error),))
            else:
                judgment = judge_call(entry.name, launch, candidate, options)
            report(number, len(entries))
            yield judgment


def entries_for(suite: Suite, candidate: Candidate, globs: Sequence[str]) -> list[Entry]:
    """Return the entries that a candidate is for, by its name or by patterns of their names.

    Raises:
        CannotJudgeCall: there are none.
    """
    if globs:
        chosen = [
            entry for entry in suite.entries if any(fnmatchcase(entry.name, glob) for glob in globs)
        ]
        if not chosen:
            names = ", ".join(entry.name for entry in suite.entries[:_MOST_LISTED])
            raise CannotJudgeCall(f"no call is named {' or '.join(globs)}; there are {names}, …")
        return chosen
    chosen = [entry for entry in suite.entries if entry.kernel == candidate.name]
    if not chosen:
        kernels = dict.fromkeys(entry.kernel for entry in suite.entries)
        raise CannotJudgeCall(
            f"no kernel of the suite is named {candidate.name}, only "
            f"{', '.join([*kernels][:_MOST_LISTED])}, …: say with --calls which calls it is for"
        )
    return chosen


def _files(
    scratch: Path, launch: Launch, passed: Sequence[str], candidate: Candidate
) -> tuple[Path, Path, str]:
    """Write the reference; return its file, the file to judge and the function in it."""
    folder = scratch / "reference"
    folder.mkdir()
    write_launch(launch, passed, folder / "recorded")
    reference = folder / "reference.py"
    text = _REFERENCE.format(kernel=launch.kernel, names=", ".join(passed))
    reference.write_text(text, encoding="utf-8")
    if not candidate.is_kernel:
        return reference, candidate.file.absolute(), candidate.name
    copies = scratch / "candidate"
    copies.mkdir()
    for path in candidate.file.absolute().parent.glob("*.py"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES:
            shutil.copy(path, copies / path.name)
    file = copies / candidate.file.name
    launcher = _LAUNCHER.format(
        entry=ENTRY, names=", ".join(passed), kernel=candidate.name, grid=launch.grid,
        arguments=", ".join(f"{name}={name}" for name in passed),
    )  # fmt: skip
    file.write_text(candidate.file.read_text(encoding="utf-8") + launcher, encoding="utf-8")
    return reference, file, ENTRY


def _reasons(judgment: Mapping[str, Any], judged: str, given: str) -> list[str]:
    """Return the findings that decide a verdict as sentences: `new.py:12: wrong-result: …`."""
    severities = ("error",) if judgment["verdict"] == "wrong" else ("error", "unjudged")
    reasons = []
    for finding in judgment["findings"]:
        if finding["severity"] not in severities:
            continue
        place = ":".join(str(finding[key]) for key in ("file", "line") if finding[key] is not None)
        prefix = f"{place.replace(judged, given)}: " if place else ""
        case = f" (case: {finding['case']})" if finding["case"] else ""
        reasons.append(f"{prefix}{finding['rule']}: {finding['message']}{case}")
    return reasons


def _judged_part(launch: Launch, smaller: Launch) -> str:
    if launch.grid == smaller.grid:
        return ""
    programs = [x * y * z for x, y, z in (smaller.grid, launch.grid)]
    return f"the first {programs[0]:,} of {plural(programs[1], 'program')}"


def judgment_lines(judgment: CallJudgment) -> list[str]:
    """Return the lines of a judgment for a terminal."""
    part = f" ({judgment.judged})" if judgment.judged else ""
    content = judgment.judgment
    lines = [f"{judgment.call}: {judgment.verdict}{part}"]
    lines += [f"  {reason}" for reason in judgment.reasons]
    if judgment.verdict == "wrong" and judgment.judged:
        lines.append(
            "  the call was judged at a smaller size: a candidate has to take sizes and grid from "
            "its arguments"
        )
    results = [result for case in content.get("cases", ()) for result in case.get("results", ())]
    if judgment.verdict == "right":
        derived = sum(result["tolerance"] in ("derived", "equal") for result in results)
        lines.append(
            f"  {plural(len(content['cases']), 'case')}, {derived:,} of {len(results):,} results "
            f"compared by derived bounds or bit by bit; {_rules_text(content)}"
        )
    return lines


def _rules_text(content: Mapping[str, Any]) -> str:
    """Return how many accesses and claims of the candidate's launches are proven, by verdict."""
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in content["verdicts"].items())
    sizes = [kernel for kernel in content["all_sizes"] if kernel["accesses"] == kernel["certified"]]
    more = f", in bounds for all sizes: {', '.join(k['kernel'] for k in sizes)}" if sizes else ""
    return f"rules: {counts or 'none'}{more}"


def exit_code(judgments: Sequence[CallJudgment]) -> int:
    """Return 0 if a candidate is right on all calls, 1 if it is wrong on one, otherwise 2."""
    verdicts = {judgment.verdict for judgment in judgments}
    return 1 if "wrong" in verdicts else 0 if verdicts == {"right"} else 2
