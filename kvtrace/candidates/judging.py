"""`kvtrace judge`: a file of kernels run by one process, and judged by others.

The candidate runs in a confined process. Inputs and right results come from another one, which does
not import the candidate's file; launches are evaluated, and results compared, in a third.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kvtrace.candidates.confining import Confined, Ended
from kvtrace.candidates.request import INPUTS, CannotJudge, FileText, Request, read_file
from kvtrace.text import amount, duration, plural, size

#: Version of the object that `kvtrace judge` prints. A minor one adds; a major one changes.
SCHEMA: Final = "1.0"
_STATUS: Final = {"right": 0, "wrong": 1, "unjudged": 2}
_ORDER: Final = ("error", "unjudged", "warning", "note")
_LIBRARIES: Final = (
    "kvtrace.candidates.child", "kvtrace.candidates.examining", "kvtrace.candidates.reference",
    "kvtrace.backends.triton.launches", "kvtrace.backends.triton.device_free",
    "kvtrace.backends.triton.evaluating_launcher", "kvtrace.clients.profiler",
    "kvtrace.opened.traces", "kvtrace.verdicts.judge", "kvtrace.evaluate.plan.launch",
    "triton.compiler", "triton.language",
    "kvtrace.symbolic.walk",
)  # fmt: skip
#: Rooms all modules of which are imported once, and not anew by each process.
_ROOMS: Final = (
    "kvtrace.backends.triton", "kvtrace.backends.compiled", "kvtrace.evaluate", "kvtrace.symbolic",
    "kvtrace.verdicts", "kvtrace.metrics", "kvtrace.calls", "kvtrace.converters.findings",
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


def judge_file(request: Request) -> Judgement:
    """Judge a candidate. Imports torch and Triton here, and runs none of the file's code here.

    Raises:
        CannotJudge: the file cannot be read, or this system cannot run it apart.

    """
    begun = time.monotonic()
    text = read_file(request.entry.file)
    if not sys.platform.startswith("linux"):
        raise CannotJudge("kvtrace judge runs files in confined processes, which takes Linux")
    times = {"imports": _import_libraries()}
    with tempfile.TemporaryDirectory(prefix="kvtrace-judge-") as scratch:
        run = _Run(request, text, Path(scratch), times)
        problems, examined = run.judged()
    times["whole"] = time.monotonic() - begun
    return Judgement(_object(request, run, problems, examined, times))


class _Run:
    """The processes of one judgement, one after the other."""

    def __init__(
        self, request: Request, text: FileText, scratch: Path, times: dict[str, float]
    ) -> None:
        self.request = request
        self.walls: Ended | None = None
        self._text = text
        self._scratch = scratch
        self._times = times

    def judged(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Run all of it; return what is wrong, and what the examiner left."""
        from kvtrace.candidates.reference import prepare

        asked = self._asked()
        names = _parameters(self._text, self.request.entry.name)
        inputs, child = self._scratch / "inputs", self._scratch / "child"
        preparing = self._begun(
            inputs, partial(prepare, self.request, inputs, asked, names, self._text.blocks)
        )
        self._times["imports"] += _warm(self.request.target)  # while the reference runs
        done = preparing.ended()
        self._times["reference"] = done.seconds
        if done.how != "whole":
            return [_unjudged("reference", f"the reference's process {_ending(done)}", done)], {}
        from kvtrace.candidates.child import run_candidate
        from kvtrace.candidates.examining import examine

        ran = self._apart("candidate", child, partial(run_candidate, self.request, inputs, child))
        self.walls = ran
        problems = []
        if ran.how == "late":
            problems.append(
                _unjudged(
                    "never-ends",
                    f"the candidate did not end within {self.request.seconds:g} s, and was killed",
                    ran, "error", "look for a loop that does not end, or judge smaller inputs",
                )
            )  # fmt: skip
        elif ran.how == "broken":
            problems.append(_unjudged("dies", f"the candidate's process {_ending(ran)}", ran))
        if not (child / "log.jsonl").exists():
            return problems, {}
        folder = self._scratch / "examiner"
        folder.mkdir()
        if any(path.is_symlink() for path in (child / "trace", *(child / "trace").rglob("*"))):
            what = "the candidate put links into its trace, which is therefore not read"
            return [*problems, _unjudged("cannot-judge", what, ran)], {}
        with suppress(OSError):  # it launched nothing, or took its trace away: that is found out
            (child / "trace").rename(folder / "trace")
        largest = self._text.largest
        looked = self._apart(
            "examiner", folder, partial(examine, self.request, largest, inputs, child, folder)
        )
        result = folder / "examined.json"
        if looked.how != "whole" or not result.exists():
            what = f"evaluating its launches {_ending(looked)}"
            return [*problems, _unjudged("cannot-judge", what, looked)], {}
        return problems, json.loads(result.read_text(encoding="utf-8"))

    def _asked(self) -> Path | None:
        """Ask the candidate's file for inputs, in a process of its own, if nothing else has any."""
        from kvtrace.candidates.reference import ask_for_inputs

        reference = self.request.reference
        if self.request.shapes or (
            reference is not None and set(INPUTS) & read_file(reference.file).names
        ):
            return None
        function = next((name for name in INPUTS if name in self._text.names), None)
        if function is None:
            return None
        folder = self._scratch / "asked"
        done = self._apart(
            "inputs", folder, partial(ask_for_inputs, self.request.entry.file, function, folder)
        )
        if done.how != "whole":
            where, why = f"{function}() of {self.request.entry.file}", _last_line(done.said)
            raise CannotJudge(f"{where} {_ending(done)}: {why}")
        return folder

    def _apart(self, name: str, folder: Path, work: Any) -> Ended:
        ended = self._begun(folder, work).ended()
        self._times[name] = ended.seconds
        return ended

    def _begun(self, folder: Path, work: Any) -> Confined:
        folder.mkdir(exist_ok=True)
        return Confined(
            work, folder, seconds=self.request.seconds, memory_mb=self.request.memory_mb
        )


def _import_libraries() -> float:
    """Import torch and Triton, which all processes need; return the seconds that it took."""
    begun = time.monotonic()
    try:
        import torch
        import triton
    except ImportError as error:
        raise CannotJudge(
            f"judging kernels takes torch and Triton ({error}); pip install 'kvtrace[triton]'"
        ) from error
    del torch, triton
    return time.monotonic() - begun


def _warm(target: str) -> float:
    """Import and work out what the candidate and the examiner need, before they are forked."""
    from importlib import import_module
    from pkgutil import walk_packages

    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime.cache import triton_key

    begun = time.monotonic()
    hashing = threading.Thread(target=triton_key)  # reads Triton's files, while we import
    hashing.start()
    for name in _LIBRARIES:
        import_module(name)
    for room in _ROOMS:
        package = import_module(room)
        for module in walk_packages(package.__path__, f"{room}."):
            import_module(module.name)
    hashing.join()  # no thread but this one may be there where processes are forked
    kind, _, architecture = target.partition(":")
    with suppress(Exception):  # an unknown target is told by the candidate's process
        number = int(architecture) if architecture.isdigit() else architecture
        backend = triton.compiler.make_backend(GPUTarget(kind, number, 32))
        backend.hash()
        backend.parse_options({})
    return time.monotonic() - begun


def _parameters(text: FileText, name: str) -> list[str]:
    for node in ast.parse(text.path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        if isinstance(node, ast.ClassDef) and node.name == name:
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and each.name == "forward":
                    return [argument.arg for argument in each.args.args[1:]]
    return []


def _unjudged(
    rule: str, message: str, ended: Ended, severity: str = "unjudged", hint: str = ""
) -> dict[str, Any]:
    last = _last_line(ended.said)
    told = f"{message}: {last}" if last and ended.how != "late" else message
    return {
        "rule": rule, "severity": severity, "message": told, "hint": hint, "case": None,
        "kernel": None, "file": None, "line": None, "column": None,
    }  # fmt: skip


def _ending(ended: Ended) -> str:
    if ended.how == "late":
        return "took too long and was killed"
    return "ended before it was done"


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""


def _object(
    request: Request, run: _Run, problems: Sequence[dict[str, Any]], examined: dict[str, Any],
    times: dict[str, float],
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
        "findings": found,
        "cases": examined.get("cases", []),
        "figures": examined.get("figures", []),
        "all_sizes": examined.get("generic", []),
        "verdicts": examined.get("rules", {}),
        "confined": {
            "network": run.walls is not None and run.walls.walls.network,
            "writes": run.walls is not None and run.walls.walls.writes,
            "processes": run.walls is not None and run.walls.walls.processes,
            "seconds": request.seconds,
            "memory_mb": request.memory_mb,
        },
        "seconds": {name: round(value, 3) for name, value in times.items()},
    }


def judgement_text(judgement: Judgement) -> list[str]:
    """Return a judgement as a few lines: the verdict, then a line a finding and a line a figure."""
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
    for each in told["figures"]:
        best = "" if each["best_ns"] is None else f", at best {duration(each['best_ns'])}"
        lines.append(
            f"{each['kernel']}: {size(each['bytes'])} asked for, "
            f"{amount(each['flops'], 'FLOP')}{best} on {each['device']}"
        )
    missing = [name for name in ("network", "writes", "processes") if not told["confined"][name]]
    if missing and told["cases"]:
        lines.append(f"note: this system could not keep it from: {', '.join(missing)}")
    return lines
