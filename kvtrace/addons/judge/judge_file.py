"""The processes of `kvtrace judge`: one runs a file of kernels, others judge its launches.

The candidate runs in a confined process. Inputs and right results come from a second process, which
does not import the candidate's file. A third process evaluates launches and compares results, a
fourth judges launches by rules. A helper process that has imported torch and all that they need
forks them (`beside.py`, `running.py`); this process runs none of it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import behavior
from kvtrace.addons.judge.beside import HelperProcess, helper_process
from kvtrace.addons.judge.confining import EVENTS_FILE, ProcessResult
from kvtrace.addons.judge.problems import Problem
from kvtrace.addons.judge.request import (
    EXAMINED,
    SEED_FILE,
    CannotJudge,
    FileText,
    Folders,
    Request,
    check_request,
    read_file,
)
from kvtrace.addons.judge.running import Examination, FileRun, compare_results, run_file
from kvtrace.addons.judge.walls import leftovers
from kvtrace.progress import progress
from kvtrace.text import amount, duration, plural, size

#: Schema version of the printed object: a minor version adds fields, a major version changes some.
SCHEMA: Final = "2.1"
_STATUS: Final = {"right": 0, "wrong": 1, "unjudged": 2}
#: Bytes at the start of a log line that contain its kind.
_KIND_WITHIN: Final = 40
_MOST_ACTIONS: Final = 1_000
_LISTS: Final = ("problems", "cases", "figures", "generic")
_WALLS: Final = ("network", "writes", "processes")
_ORDER: Final = ("error", "unjudged", "warning", "note")
#: Tolerances of results without derived bounds, as text.
_TOLERANCES: Final = {"granted": "what the problem grants", "fixed": "a fixed tolerance"}
_KILLED: Final = "judge smaller inputs, or give more time or memory: --seconds, --memory"
#: Files beside the candidate's that are also read, at most.
_MOST_FILES: Final = 20
#: Kinds of cases in words, and most conditions against overflow that are printed.
_CASES: Final = {
    "given": "given", "values": "with other values", "view": "of views", "sizes": "of other sizes",
    "beyond": "beyond the given inputs",
}  # fmt: skip
_MOST_LIMITS: Final = 3


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judgment; `object` is its JSON, by the schema `judgment.schema.json`."""

    object: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The verdict: right, wrong or unjudged."""
        return str(self.object["verdict"])

    @property
    def status(self) -> int:
        """The command's exit code."""
        return _STATUS[self.verdict]


def schema() -> dict[str, Any]:
    """Return the JSON schema of the output of `kvtrace judge`."""
    path = Path(__file__).with_name("judgment.schema.json")
    schema_object: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema_object


def judge_file(request: Request, seed: int | None = None) -> Judgment:
    """Judge a candidate, without running any of the file's code in this process.

    A helper process imports torch and the other modules; it is reused by later judgments.

    Args:
        request: The candidate, its reference, its inputs and the limits.
        seed: The seed of an earlier judgment, to repeat the judgment; None: a new seed. It is not
            part of the request, which the candidate's process receives.

    Raises:
        CannotJudge: the file cannot be read.
        CannotConfine: this system cannot confine processes.
    """
    begun = time.monotonic()
    text = read_file(request.entry.file)
    check_request(request, text)
    if not sys.platform.startswith("linux"):
        raise CannotJudge("kvtrace judge runs files in confined processes, which takes Linux")
    scratch = Path(tempfile.mkdtemp())
    try:
        run = _Run(request, text, scratch, seed)
        with progress(f"judge {request.entry.name}"):
            problems, examined = run.judge()
    finally:
        leftovers.remove(scratch)
    run.times["whole"] = time.monotonic() - begun
    return Judgment(_judgment_object(request, run, problems, examined))


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

    def judge(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Run all processes; return this process's problems, and the examiners' results.

        The results are {} if the candidate could not be examined.
        """
        child = self._scratch / "child"
        self._seed = secrets.randbits(128) if self._given_seed is None else self._given_seed
        calls_seed = hashlib.blake2b(self._seed.to_bytes(16), digest_size=16, person=b"calls")
        file = self._scratch / SEED_FILE  # this process alone has the whole seed
        file.write_text(calls_seed.hexdigest(), encoding="ascii")
        entry = self.request.entry.name
        names = self._text.parameters.get(entry, ())
        surroundings = [*_surroundings_problems(self._text, entry)]
        with helper_process() as helper:
            helper.ask(run_file, self.request, self._text, names, self._scratch)
            file_run: FileRun = helper.answer()
            self.times |= file_run.seconds
            killed = [_problem("reference", text, _KILLED, "unjudged") for text in file_run.killed]
            if file_run.candidate is None:
                message = f"the reference's process {file_run.reference.in_words}"
                return [*killed, _unjudged("reference", message, file_run.reference)], {}
            self.walls = file_run.candidate
            problems = [*killed, *_process_problems(file_run, self.request.seconds)]
            problems += _omission_notes(file_run)
            problems += surroundings
            if not (child / EVENTS_FILE).exists():
                return problems, {}
            failed = list(_failure_problems(child / EVENTS_FILE))
            if failed:
                return [*problems, *failed], {}
            return self._examine(helper, problems)

    def _examine(
        self, helper: HelperProcess, problems: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Compare results in one process, and judge by rules in another at the same time.

        Returns problems, with `problems` in front, and the merged results.
        """
        scratch, request = self._scratch, self.request
        paths = (scratch / name for name in ("inputs", "child", "answers", "answered"))
        folders = Folders(*paths)
        self.seed = {"value": f"{self._seed:032x}", "given": self._given_seed is not None}
        place = request.reference
        annotations = read_file(place.file).annotations.get(place.name, {})
        helper.ask(compare_results, request, self._text, annotations, self._seed, folders)
        examination: Examination = helper.answer()
        self.times |= examination.seconds
        killed = (_problem("reference", text, _KILLED, "unjudged") for text in examination.killed)
        problems = [*problems, *killed]
        result: dict[str, Any] = {"rules": {}} | {key: [] for key in _LISTS}
        for name, process in examination.processes.items():
            file = scratch / name / EXAMINED
            if process.how != "whole" or not file.exists():
                message = f"the evaluation of the candidate's launches {process.in_words}"
                problems.append(_unjudged("cannot-judge", message, process))
            content = file.read_text(encoding="utf-8") if file.exists() else "{}"
            for key, value in json.loads(content).items():
                result[key] = {**result[key], **value} if key == "rules" else result[key] + value
        return problems, result


def _failure_problems(events: Path) -> Iterator[dict[str, Any]]:
    """Yield problems if the candidate cannot be imported, or fails on the given inputs.

    Its other observed actions are included, since a refused action may have caused the failure.

    Raises:
        CannotJudge: the log has another form.
    """
    failures: list[Mapping[str, Any]] = []
    actions: list[Mapping[str, Any]] = []
    with events.open("rb") as lines:
        for line in lines:
            begin = line[:_KIND_WITHIN]
            if b'"failed"' in begin or b'"kind"' in begin:
                try:
                    entry = json.loads(line)
                except ValueError as error:
                    raise CannotJudge("the log of launches was tampered with") from error
                if "kind" not in entry:
                    failures.append(entry)
                elif len(actions) < _MOST_ACTIONS:
                    actions.append(entry)
    if not failures:
        return
    for kind, text in behavior.behavior_sentences(actions):
        yield _problem(kind, text, behavior.HINT)
    yield _problem("raises", str(failures[0]["failed"])) | {
        "file": failures[0].get("file"), "line": failures[0].get("line"),
    }  # fmt: skip


def _problem(rule: str, message: str, hint: str = "", severity: str = "error") -> dict[str, Any]:
    return asdict(Problem(rule, severity, message, hint))


def _process_problems(file_run: FileRun, seconds: float) -> Iterator[dict[str, Any]]:
    process, outgrown = file_run.candidate, file_run.outgrown
    assert process is not None
    if process.how == "late":
        where = f" on {outgrown}, which is much larger than the cases before" * bool(outgrown)
        message = f"the candidate did not end within {seconds:g} s{where}, and was killed"
        hint = "look for a loop that does not end, or judge smaller inputs"
        severity = "unjudged" if outgrown else "error"
        yield _unjudged("never-ends", message, process, severity, hint)
    elif process.how == "broken":
        yield _unjudged("dies", f"the candidate's process {process.in_words}", process)


def _omission_notes(file_run: FileRun) -> Iterator[dict[str, Any]]:
    """Yield a note if files in the judged files' folders were not copied for their processes."""
    processes = [
        process for process in (file_run.reference, file_run.candidate) if process is not None
    ]
    names = sorted({name for process in processes for name in process.left_out})
    if names:
        message = f"files of the judged file's folder that were not copied: {', '.join(names)}"
        hint = (
            "if the judged file imports them, store them as regular files; links are not followed"
        )
        yield _unjudged("left-out", message, replace(processes[0], output=""), "note", hint)


def _surroundings_problems(text: FileText, entry: str) -> Iterator[dict[str, Any]]:
    """Yield a problem if the candidate, or an imported file of its folder, reads surroundings.

    These are, for example, the clock, environment variables or files.
    """
    reached_names = {"", *text.reached(entry)}
    all_reads = {f"{text.path.name}: {read}": None for name in text.reads if name in reached_names
                 for read in text.reads[name]}  # fmt: skip
    files, known_paths = [text], {text.path}
    while files and len(known_paths) <= _MOST_FILES:
        for name in files.pop().imported:
            path = text.path.with_name(f"{name}.py")
            if path not in known_paths and path.is_file():
                known_paths.add(path)
                files.append(imported_file := read_file(path))
                other_reads = (read for reads in imported_file.reads.values() for read in reads)
                all_reads |= {f"{path.name}: {read}": None for read in other_reads}
    if all_reads:
        message = f"the candidate reads more than its inputs ({', '.join([*all_reads][:3])})"
        yield _problem(
            "surroundings", f"{message}, so it may behave differently elsewhere, or later",
            "leave these reads out, or move measurements into a separate file", "unjudged",
        )  # fmt: skip


def _unjudged(
    rule: str, message: str, process: ProcessResult, severity: str = "unjudged", hint: str = ""
) -> dict[str, Any]:
    class_name = f"{CannotJudge.__module__}.{CannotJudge.__name__}: "
    last_line = process.last_line
    if last_line.startswith(class_name):
        message = last_line.removeprefix(class_name)
    elif last_line and process.how != "late" and not process.reason:
        message = f"{message}: {last_line}"
    return _problem(rule, message, hint, severity)


def _judgment_object(
    request: Request, run: _Run, problems: Sequence[dict[str, Any]], examined: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    from kvtrace.version import __version__

    findings = [*problems, *examined.get("problems", ())]
    findings.sort(key=lambda problem: _ORDER.index(problem["severity"]))
    severities = {problem["severity"] for problem in findings}
    verdict = "wrong" if "error" in severities else "right"
    if verdict == "right" and ("unjudged" in severities or not examined.get("cases")):
        verdict = "unjudged"
    reference = request.reference
    return {
        "schema": SCHEMA,
        "kvtrace": __version__,
        "verdict": verdict,
        "entry": {"file": str(request.entry.file), "name": request.entry.name},
        "reference": {"file": str(reference.file), "name": reference.name},
        "seed": run.seed,
        "findings": findings,
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


def judgment_text(judgment: Judgment) -> list[str]:
    """Return the lines of a judgment for a terminal: verdict, findings, tolerances, figures."""
    content = judgment.object
    entry = content["entry"]
    lines = [
        f"{entry['file']}:{entry['name']}: {content['verdict']} "
        f"({plural(len(content['cases']), 'case')} in {content['seconds']['whole']:.1f} s)"
    ]
    for finding in content["findings"]:
        file_line_column = (finding[key] for key in ("file", "line", "column"))
        location = ":".join(str(part) for part in file_line_column if part is not None)
        location_prefix = f"{location}: " if location else ""
        lines.append(
            f"{location_prefix}{finding['severity']}[{finding['rule']}]: {finding['message']}"
        )
        if finding["hint"]:
            lines.append(f"  hint: {finding['hint']}")
        if finding["case"]:
            lines.append(f"  case: {finding['case']}")
    lines += _case_lines(content["cases"])
    lines += _tolerance_lines(content["cases"])
    lines += _size_lines(content["all_sizes"])
    for figures in content["figures"]:
        best = "" if figures["best_ns"] is None else f", at best {duration(figures['best_ns'])}"
        lines.append(
            f"{figures['kernel']}: {size(figures['bytes'])} requested, "
            f"{amount(figures['flops'], 'FLOP')}{best} on {figures['device']}"
        )
    if content["cases"] and not all(content["confined"][name] for name in _WALLS):
        lines.append("note: the file ran unconfined, since this system could not confine it")
    return lines


def _case_lines(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line with the number of cases of each kind; none without cases."""
    counts = Counter(case["kind"] for case in cases)
    texts = [f"{count} {_CASES[kind]}" for kind, count in counts.items()]
    return [f"cases: {', '.join(texts)}"] if texts else []


def _size_lines(variants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines with what is known of each kernel at all sizes, and what was not asked."""
    lines: list[str] = []
    for kernel in dict.fromkeys(variant["kernel"] for variant in variants):
        of_kernel = [variant for variant in variants if variant["kernel"] == kernel]
        accesses, certified = (
            sum(v[name] for v in of_kernel) for name in ("accesses", "certified")
        )
        limits = [*dict.fromkeys(limit for v in of_kernel for limit in v["no_overflow"])]
        lines.append(
            f"{kernel}, other sizes: {certified} of {plural(accesses, 'access')} of "
            f"{plural(len(of_kernel), 'variant')} with a condition that keeps it inside its tensor"
        )
        more = f" and {len(limits) - _MOST_LIMITS} more" if len(limits) > _MOST_LIMITS else ""
        if limits:
            lines.append(f"  no integer overflows if {'; '.join(limits[:_MOST_LIMITS])}{more}")
        at = dict.fromkeys(variant["at"] for variant in of_kernel if variant["at"])
        lines += [f"  judged at {sizes}" for sizes in at]
    if lines:
        asked = any(variant["at"] for variant in variants)
        lines += [] if asked else ["no sizes beyond the cases were judged; --at names them"]
        lines.append("conditions: --json; the first bad size of each number: kvtrace sizes")
    return lines


def _tolerance_lines(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines with the number of results by tolerance, with reasons for other than derived."""
    results = [result for case in cases for result in case.get("results", ())]
    derived = sum(result["tolerance"] == "derived" for result in results)
    other_counts = Counter(
        (_TOLERANCES[result["tolerance"]], result["because"])
        for result in results
        if result["tolerance"] in _TOLERANCES
    )
    lines = [f"{plural(derived, 'result')} compared by derived bounds"] if derived else []
    return lines + [
        f"{plural(count, 'result')} compared by {by}, because {because}"
        for (by, because), count in other_counts.most_common()
    ]
