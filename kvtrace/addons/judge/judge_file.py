"""`kvtrace judge`: a file of kernels run by one process, and judged by others.

The candidate runs in a confined process. Inputs and right results come from another one, which does
not import the candidate's file; launches are evaluated, and results compared, in a third. The first
two are forked by a process with torch (`beside.py`, `running.py`), while this one imports what the
examiner takes, from which the examiner is forked.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import behavior
from kvtrace.addons.judge.beside import HelperProcess, helper_process
from kvtrace.addons.judge.confining import EVENTS_FILE, ProcessResult, run_confined
from kvtrace.addons.judge.request import (
    EXAMINED,
    MISSING,
    RECORDED,
    SEED_FILE,
    CannotJudge,
    FileText,
    Folders,
    Request,
    check,
    read_file,
)
from kvtrace.addons.judge.running import Examination, FileRun, compare_results, import_all, run_file
from kvtrace.addons.judge.walls import leftovers
from kvtrace.text import amount, duration, plural, size

#: Version of the object that `kvtrace judge` prints. A minor one adds; a major one changes.
SCHEMA: Final = "1.3"
_STATUS: Final = {"right": 0, "wrong": 1, "unjudged": 2}
#: Bytes of a line of the log within which it says that the candidate failed.
_NAMED_WITHIN: Final = 40
_MOST_SEEN: Final = 1_000
_FOUND: Final = ("problems", "cases", "figures", "generic")
_WALLS: Final = ("network", "writes", "processes")
_ORDER: Final = ("error", "unjudged", "warning", "note")
#: Tolerances of results without derived bounds, as text.
_TOLERANCES: Final = {"granted": "what the problem grants", "fixed": "a fixed tolerance"}
#: Files beside the candidate's that are read, too.
_MOST_FILES: Final = 20
#: What the examiner imports, all modules of it where it is a room.
_EXAMINER: Final = (
    "triton", "kvtrace.evaluate", "kvtrace.ir.parser", "kvtrace.addons.judge.examining",
    "kvtrace.clients.profiler", "kvtrace.symbolic", "kvtrace.verdicts", "kvtrace.metrics",
    "kvtrace.recorded_calls", "kvtrace.converters.findings", "pyarrow.acero",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is printed; `object` is described by `judgement.schema.json`."""

    object: dict[str, Any]

    @property
    def verdict(self) -> str:
        """Return right, wrong or unjudged."""
        return str(self.object["verdict"])

    @property
    def status(self) -> int:
        """Return the command's exit code."""
        return _STATUS[self.verdict]


def schema() -> dict[str, Any]:
    """Return the JSON schema of what `kvtrace judge` prints."""
    path = Path(__file__).with_name("judgement.schema.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def judge_file(request: Request, seed: int | None = None) -> Judgement:
    """Judge a candidate. Runs none of the file's code here.

    Torch is imported by a separate process, at the same time as what else there is to import. It
    is kept: for the next files that this process judges it is imported already.

    Args:
        request: What is judged, and how.
        seed: What other values are drawn from, to repeat a judgment. A candidate must not know it:
            it is not a part of the request, which the candidate's process gets. None: a fresh one.

    Raises:
        CannotJudge: the file cannot be read.
        CannotConfine: this system cannot keep what it runs from the host.

    """
    begun = time.monotonic()
    text = read_file(request.entry.file)
    check(request, text)
    if not sys.platform.startswith("linux"):
        raise CannotJudge("kvtrace judge runs files in confined processes, which takes Linux")
    scratch = Path(tempfile.mkdtemp())
    try:
        run = _Run(request, text, scratch, seed)
        problems, examined = run.judged()
    finally:
        leftovers.remove(scratch)
    run.times["whole"] = time.monotonic() - begun
    return Judgement(_object(request, run, problems, examined))


class _Run:
    """The processes of one judgment."""

    def __init__(self, request: Request, text: FileText, scratch: Path, seed: int | None) -> None:
        self.request = request
        self.seed: dict[str, Any] | None = None
        self.walls: ProcessResult | None = None
        self.times: dict[str, float] = {}
        self._text = text
        self._scratch = scratch
        self._given_seed = seed

    def judged(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Run all of it; return what is wrong, and what the examiner left."""
        child = self._scratch / "child"
        given = self._given_seed
        self._seed = secrets.randbits(128) if given is None else given
        drawn = hashlib.blake2b(self._seed.to_bytes(16), digest_size=16, person=b"calls")
        file = self._scratch / SEED_FILE  # this process alone has the whole seed
        file.write_text(drawn.hexdigest(), encoding="ascii")
        entry = self.request.entry.name
        names = self._text.parameters.get(entry, ())
        looks = [*_looks(self._text, entry)]
        if self.request.trace is not None:
            from kvtrace.addons.judge.recorded_inputs import keep_recorded

            keep_recorded(self.request.trace, self._text, entry, self._scratch / RECORDED)
        with helper_process() as running:
            running.ask(run_file, self.request, self._text, names, self._scratch)
            try:
                import_all(_EXAMINER)  # on another core, while the file runs
            except ImportError as error:
                raise CannotJudge(MISSING.format(error)) from error
            ran: FileRun = running.answer()
            self.times |= ran.seconds
            if ran.candidate is None:
                what = f"the reference's process {ran.reference.in_words}"
                return [_unjudged("reference", what, ran.reference)], {}
            self.walls = ran.candidate
            problems = list(_ended_badly(ran.candidate, self.request.seconds))
            problems += _left_out(ran)
            problems += looks
            if not (child / EVENTS_FILE).exists():
                return problems, {}
            failed = list(_failed(child / EVENTS_FILE))
            if failed:
                return [*problems, *failed], {}
            return self._examined(running, problems)

    def _examined(
        self, running: HelperProcess, problems: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Have results compared by another process, and judge rules at the same time."""
        scratch, request = self._scratch, self.request
        left = (scratch / name for name in ("inputs", "child", "answers", "answered"))
        folders = Folders(*left)
        self.seed = {"value": f"{self._seed:032x}", "given": self._given_seed is not None}
        running.ask(compare_results, request, self._seed, folders, scratch / "results")
        ruled = run_confined(
            partial(_examine, request, self._text, folders, scratch / "examiner"),
            scratch / "examiner", seconds=request.seconds, memory_mb=request.memory_mb,
            reads=[each for each in (folders.inputs, folders.child, folders.answered)
                   if each.exists()], unconfined=request.unconfined,
        )  # fmt: skip
        done: Examination = running.answer()
        self.times |= {**done.seconds, "examiner": ruled.seconds}
        if done.results is None:
            assert done.answers is not None
            what = f"the reference's process {done.answers.in_words}"
            return [_unjudged("reference", what, done.answers)], {}
        found: dict[str, Any] = {"rules": {}} | {key: [] for key in _FOUND}
        for ended, name in ((done.results, "results"), (ruled, "examiner")):
            file = scratch / name / EXAMINED
            if ended.how != "whole" or not file.exists():
                what = f"evaluating its launches {ended.in_words}"
                return [*problems, _unjudged("cannot-judge", what, ended)], {}
            for key, value in json.loads(file.read_text(encoding="utf-8")).items():
                found[key] = {**found[key], **value} if key == "rules" else found[key] + value
        return problems, found


def _failed(events: Path) -> Iterator[dict[str, Any]]:
    """Give the problems of a candidate that cannot be imported, or fails on the given inputs.

    What else it was seen to do comes with it: it may have failed since it was refused.

    Raises:
        CannotJudge: the log is not as it should be.

    """
    failed: list[Mapping[str, Any]] = []
    seen: list[Mapping[str, Any]] = []
    with events.open("rb") as lines:
        for line in lines:
            begin = line[:_NAMED_WITHIN]
            if b'"failed"' in begin or b'"kind"' in begin:
                try:
                    entry = json.loads(line)
                except ValueError as error:
                    raise CannotJudge("the log of launches was tampered with") from error
                if "kind" not in entry:
                    failed.append(entry)
                elif len(seen) < _MOST_SEEN:
                    seen.append(entry)
    if not failed:
        return
    for kind, text in behavior.behavior_sentences(seen):
        yield _problem(kind, text, behavior.HINT)
    yield _problem("raises", str(failed[0]["failed"])) | {
        "file": failed[0].get("file"), "line": failed[0].get("line"),
    }  # fmt: skip


def _problem(rule: str, message: str, hint: str = "", severity: str = "error") -> dict[str, Any]:
    return {
        "rule": rule, "severity": severity, "message": message, "hint": hint, "case": None,
        "kernel": None, "file": None, "line": None, "column": None,
    }  # fmt: skip


def _ended_badly(ran: ProcessResult, seconds: float) -> Iterator[dict[str, Any]]:
    if ran.how == "late":
        what = f"the candidate did not end within {seconds:g} s, and was killed"
        hint = "look for a loop that does not end, or judge smaller inputs"
        yield _unjudged("never-ends", what, ran, "error", hint)
    elif ran.how == "broken":
        yield _unjudged("dies", f"the candidate's process {ran.in_words}", ran)


def _left_out(ran: FileRun) -> Iterator[dict[str, Any]]:
    """Note what lies beside the files and was not there for the processes that ran them."""
    processes = [each for each in (ran.reference, ran.candidate) if each is not None]
    names = sorted({name for each in processes for name in each.left_out})
    if names:
        what = f"not brought along from beside the files: {', '.join(names)}"
        hint = "put what they import there as regular files; links are not followed"
        yield _unjudged("left-out", what, replace(processes[0], said=""), "note", hint)


def _looks(text: FileText, entry: str) -> Iterator[dict[str, Any]]:
    """Report what a candidate reads besides its inputs, also in files beside it."""
    reached = {"", *text.reached(entry)}
    found = {f"{text.path.name}: {each}": None for name in text.reads if name in reached
             for each in text.reads[name]}  # fmt: skip
    files, known = [text], {text.path}
    while files and len(known) <= _MOST_FILES:
        for name in files.pop().imported:
            path = text.path.with_name(f"{name}.py")
            if path not in known and path.is_file():
                known.add(path)
                files.append(other := read_file(path))
                listed = (each for reads in other.reads.values() for each in reads)
                found |= {f"{path.name}: {each}": None for each in listed}
    if found:
        what = f"the candidate reads more than its inputs ({', '.join([*found][:3])})"
        yield _problem(
            "surroundings", f"{what}, so it may do otherwise elsewhere, or later",
            "leave it out, or move what is for measuring into a separate file", "unjudged",
        )  # fmt: skip


def _examine(request: Request, text: FileText, folders: Folders, folder: Path) -> None:
    from kvtrace.addons.judge.examining import examine

    with suppress(FileNotFoundError):  # it launched nothing, or took its trace away: examine says
        shutil.copytree(folders.child / "trace", folder / "trace")
    beside = any(text.path.with_name(f"{name}.py").is_file() for name in text.imported)
    tuned = beside or any("autotune" in names for names in text.used.values())
    examine(request, text.largest, folders, folder, tuned=tuned)


def _unjudged(
    rule: str, message: str, ended: ProcessResult, severity: str = "unjudged", hint: str = ""
) -> dict[str, Any]:
    own = f"{CannotJudge.__module__}.{CannotJudge.__name__}: "
    last = ended.last_line
    told = f"{message}: {last}" if last and ended.how != "late" and not ended.reason else message
    told = last.removeprefix(own) if last.startswith(own) else told
    return _problem(rule, told, hint, severity)


def _object(
    request: Request, run: _Run, problems: Sequence[dict[str, Any]], examined: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    from kvtrace import __version__

    found = [*problems, *examined.get("problems", ())]
    found.sort(key=lambda problem: _ORDER.index(problem["severity"]))
    severities = {problem["severity"] for problem in found}
    verdict = "wrong" if "error" in severities else "right"
    if verdict == "right" and ("unjudged" in severities or not examined.get("cases")):
        verdict = "unjudged"
    reference = request.reference
    return {
        "schema": SCHEMA,
        "kvtrace": __version__,
        "verdict": verdict,
        "entry": {"file": str(request.entry.file), "name": request.entry.name},
        "reference": None
        if reference is None
        else {"file": str(reference.file), "name": reference.name},
        "seed": run.seed,
        "findings": found,
        "cases": examined.get("cases", []),
        "figures": examined.get("figures", []),
        "all_sizes": examined.get("generic", []),
        "verdicts": examined.get("rules", {}),
        "confined": {
            **dict.fromkeys(_WALLS, run.walls is not None and run.walls.confined),
            "seconds": request.seconds,
            "memory_mb": request.memory_mb,
        },
        "seconds": {name: round(value, 3) for name, value in run.times.items()},
    }


def judgement_text(judgement: Judgement) -> list[str]:
    """Return a judgment as a few lines: the verdict, then a line a finding and a line a figure."""
    told = judgement.object
    entry = told["entry"]
    lines = [
        f"{entry['file']}:{entry['name']}: {told['verdict']} "
        f"({plural(len(told['cases']), 'case')} in {told['seconds']['whole']:.1f} s)"
    ]
    for each in told["findings"]:
        place = ":".join(str(each[k]) for k in ("file", "line", "column") if each[k] is not None)
        where = f"{place}: " if place else ""
        lines.append(f"{where}{each['severity']}[{each['rule']}]: {each['message']}")
        if each["hint"]:
            lines.append(f"  hint: {each['hint']}")
        if each["case"]:
            lines.append(f"  case: {each['case']}")
    lines += _tolerances(told["cases"])
    for each in told["figures"]:
        best = "" if each["best_ns"] is None else f", at best {duration(each['best_ns'])}"
        lines.append(
            f"{each['kernel']}: {size(each['bytes'])} asked for, "
            f"{amount(each['flops'], 'FLOP')}{best} on {each['device']}"
        )
    if told["cases"] and not all(told["confined"][name] for name in _WALLS):
        lines.append("note: it was not confined: this system could not keep it from the host")
    return lines


def _tolerances(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how many results were compared by derived bounds, and why others were not."""
    results = [result for case in cases for result in case.get("results", ())]
    derived = sum(result["tolerance"] == "derived" for result in results)
    others = Counter(
        (_TOLERANCES[result["tolerance"]], result["because"])
        for result in results
        if result["tolerance"] in _TOLERANCES
    )
    lines = [f"{plural(derived, 'result')} compared by derived bounds"] if derived else []
    return lines + [
        f"{plural(count, 'result')} compared by {by}, because {because}"
        for (by, because), count in others.most_common()
    ]
