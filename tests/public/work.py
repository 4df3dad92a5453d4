"""What a process does with one case: run it here or in Triton's interpreter, and judge it.

Each of these runs in a process forked from one that has imported torch and Triton.
"""

import runpy
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

import kvtrace
from tests.public.case import CASES, Case, Outcome, difference
from tests.public.packages import PACKAGES, load
from tests.support.replacing import replace

Result = dict[str, Any]

SEED = 20

#: What a program that is a file is told of.
GPU = {"target": "cuda:90", "device": "cpu"}


def cases_of(package: str) -> dict[str, Case]:
    """Return the cases of a package by name, sorted."""
    if package not in CASES:
        for file in sorted((Path(__file__).parent / "cases").glob(f"{package}_*.py")):
            import_module(f"tests.public.cases.{file.stem}")
    return dict(sorted(CASES.get(package, {}).items()))


def interpreted(package: str, name: str, folder: Path) -> Result:
    """Run a case in Triton's interpreter and keep what it gave."""
    begin = time.perf_counter()
    try:  # recorded for the sake of what is answered for the GPU: no kernel has that name
        with kvtrace.capture(folder / "out", kernels="-", **_device(package)):
            outcome = _run(package, name)
    except Exception as error:
        return _failure("interpreter", error, begin)
    torch.save([tensor.detach() for tensor in outcome.got], folder / "interpreted.pt")
    return {"status": "ran", "seconds": time.perf_counter() - begin}


def judged(package: str, name: str, folder: Path, tensors: str, interpreter: bool) -> Result:
    """Record a case, compare what it gave, and judge every access of its launches."""

    def run() -> Result:
        with kvtrace.capture(folder / f"out-{tensors}", tensors=tensors, **_device(package)):
            outcome = _run(package, name)
        return _compared(outcome, folder, interpreter)

    return _judged(package, name, folder, tensors, run)


def program(package: str, name: str, folder: Path, tensors: str, interpreter: bool) -> Result:
    """Record a program that is a file, as it is, and judge every access of its launches."""
    del interpreter

    def run() -> Result:
        sys.path.insert(0, str(Path(name).parent))
        sys.argv = [name]
        with kvtrace.capture(folder / f"out-{tensors}", tensors=tensors, **GPU):
            runpy.run_path(name, run_name="__main__")
        return {"status": "ran"}

    return _judged(package, name, folder, tensors, run)


def _judged(
    package: str, name: str, folder: Path, tensors: str, run: Callable[[], Result]
) -> Result:
    _stop_at_ttir()
    begin = time.perf_counter()
    result: Result = {"case": name, "package": package, "tensors": tensors}
    out = folder / f"out-{tensors}"
    try:
        result |= run()
        result["seconds"] = time.perf_counter() - begin
    except (Exception, SystemExit) as error:
        result |= _failure("case", error, begin)
    begin = time.perf_counter()
    try:
        result |= _verdicts(out) if out.is_dir() else {}  # nothing was launched
    except Exception as error:
        result |= {"judging": _told(error)}
    return result | {"judge_seconds": time.perf_counter() - begin}


def _device(package: str) -> dict[str, str]:
    """The GPU that the package is told of, whose tensors lie in the host's memory."""
    return {"target": PACKAGES[package].target, "device": "cpu"}


def _run(package: str, name: str) -> Outcome:
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty is NaN
    load(PACKAGES[package])
    if not torch.cuda.is_available():  # Triton's interpreter
        return cases_of(package)[name].run()
    torch.set_default_device("cuda")
    try:
        return _on_host(cases_of(package)[name].run())
    finally:
        torch.set_default_device(None)


def _on_host(outcome: Outcome) -> Outcome:
    """Return what a case gave with its tensors on the CPU, where they are compared."""
    wanted = outcome.wanted
    return replace(
        outcome,
        got=tuple(each.cpu() for each in outcome.got),
        wanted=None if wanted is None else tuple(each.cpu() for each in wanted),
    )


def _compared(outcome: Outcome, folder: Path, interpreter: bool) -> Result:
    if outcome.wanted is None:
        if not interpreter:
            return {"status": "uncompared", "detail": "no interpreter was asked for"}
        file = folder / "interpreted.pt"
        if not file.is_file():
            return {"status": "uncompared", "detail": "the interpreter fails"}
        outcome = Outcome(outcome.got, tuple(torch.load(file)), outcome.tolerance)
    told = difference(outcome.got, outcome)
    return {"status": "right"} if told is None else {"status": "wrong", "detail": told}


def _verdicts(out: Path) -> Result:
    from kvtrace.clients.recorded import replay
    from kvtrace.clients.registry import as_client
    from kvtrace.clients.sanitizer import Sanitizer
    from kvtrace.converters.findings import finding_objects, observed_rules, read_findings
    from kvtrace.schema.trace import open_trace
    from kvtrace.verdicts.rules.choice import rule_ids
    from kvtrace.verdicts.rules.table import RULES

    trace = open_trace(out)
    failures: list[str] = []
    for run in trace.runs:
        outcome = replay(trace, run, None, (as_client(Sanitizer(), "sanitizer"),))
        failures += [*outcome.failures, *map(str, outcome.errors)]
    observed = observed_rules(trace, trace.runs, RULES)
    rules = rule_ids(["default"], observed)
    findings = read_findings(
        trace, trace.runs, proven=False, rules=rules, known_rules=(*RULES, *observed)
    )
    verdicts = trace.table("findings").column("verdict").to_pylist()
    names = trace.table("kernels").column("name").to_pylist()
    messages = [
        f"{row['level']} {row['code']}: {row['text']}"
        for row in trace.table("messages", columns=["level", "code", "text"]).to_pylist()
        if row["level"] != "info"
    ]
    kept = ("kernel", "rule", "verdict", "severity", "file", "line", "source", "message", "reason")
    listed = finding_objects(findings.listed)
    return {
        "kernels": sorted(set(names)),
        "launches": trace.table("launches").num_rows,
        "verdicts": Counter(verdicts),
        "findings": [{key: one[key] for key in (*kept, "calls", "launched_at")} for one in listed],
        "messages": messages,
        "unjudged": failures,
    }


def _failure(what: str, error: Exception, begin: float) -> Result:
    seconds = time.perf_counter() - begin
    return {"status": "failed", "detail": f"{what}: {_told(error)}", "seconds": seconds,
            "traceback": "".join(traceback.format_exception(error))[-4000:]}  # fmt: skip


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def _stop_at_ttir() -> None:
    """Let Triton's compiler for NVIDIA end with TTIR, which is what is executed and judged.

    What comes after takes a hundred times as long. With it goes the check that a configuration fits
    into shared memory, so that autotuning takes the first one that has valid TTIR.
    """
    from triton.backends.nvidia.compiler import CUDABackend

    whole = CUDABackend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], options: Any, language: Any) -> None:
        whole(self, stages, options, language)
        after = list(stages)[list(stages).index("ttir") + 1 :]
        for stage in after:
            del stages[stage]
        stages["cubin"] = _nothing

    CUDABackend.add_stages = add_stages


def _nothing(module: Any, metadata: dict[str, Any]) -> bytes:
    text = str(module)
    metadata["name"] = text.partition("tt.func public @")[2].partition("(")[0]
    metadata["shared"] = metadata["tmem_size"] = metadata["global_scratch_size"] = 0
    metadata["global_scratch_align"] = metadata["profile_scratch_align"] = 1
    metadata["profile_scratch_size"] = 0
    if "!tt.tensordesc" in text.partition("tt.func public @")[2].partition("\n")[0]:
        metadata["tensordesc_meta"] = [{}]
    return b""
