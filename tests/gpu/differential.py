"""To be run by hand on a machine with a GPU: the catalog's cases there, and in the evaluator.

    python tests/gpu/differential.py [--device cuda|cpu] [--only WORDS] [--seed N] [--workers N]

For each case the kernel runs on the GPU; the evaluator then runs the TTIR of the very kernel that
Triton compiled, on copies of the inputs. Besides the catalog's own inputs, cases whose inputs are
arrays of floats run on further random ones (`--seed`). What may differ is each case's `device`
bound: a number of units in the last place, or a part of the largest magnitude, with its reason.
Cases of what Triton leaves undefined, and differences that are known, are told, not judged; cases
that Hopper cannot run are left out. A process whose CUDA context a kernel broke, or that died, is
replaced; the case that did it has failed, those after it run in the new process.

Prints a table by op and type, the worst differences, and histograms of relative errors of the
elementary functions. Ends with 1 if a difference lies beyond its bound or a case failed.

`--device cpu` needs no GPU: it puts Triton's launches through kvtrace's driver, that is, compares
the evaluator with itself, to try this program.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import triton
from triton.runtime import driver

from kvtrace.backends.compiled_kernels.generic import generic_ttir
from kvtrace.evaluate import evaluate, parsed
from tests.kernels.case import Bound, Case, Difference, difference, random_of
from tests.kernels.catalog import CASES
from tests.kernels.launching import bind, to_array, to_tensor
from tests.support.replacing import replace

Arrays = Mapping[str, np.ndarray]

HISTOGRAMS = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "sigmoid", "/")
EDGES = (0, 0.5, 1, 2, 4, 8, 16, 32)
LISTED = 25
REFUSALS = ("CompilationError", "PTXASError", "OutOfResources")
"""Triton cannot compile the kernel for this GPU: told, but no difference."""


@dataclass
class Outcome:
    """What a case gave: differences by output, or the error that ended it."""

    case: Case
    differences: list[tuple[str, Difference]] = field(default_factory=list)
    error: str = ""
    refused: str = ""
    ulps: np.ndarray | None = None

    @property
    def failed(self) -> bool:
        beyond = any(not found.within for _, found in self.differences)
        return bool(self.error) or (beyond and not told_only(self.case))


def told_only(case: Case) -> str:
    """Why differences of a case are told and not judged; empty if they are judged."""
    return case.undefined or case.differs


def copies(case: Case, device: str) -> dict[str, Any]:
    """The inputs of a case, tensors on a device."""
    return {
        name: to_tensor(value).to(device) if isinstance(value, np.ndarray) else value
        for name, value in case.inputs.items()
    }


def on_device(case: Case, device: str) -> tuple[dict[str, np.ndarray], tuple[str, str]]:
    """Launch with Triton; give the outputs, and the kernel's TTIR and target."""
    arguments = copies(case, device)
    launched = case.kernel[case.grid](**arguments, **case.constexprs)
    if device != "cpu":
        torch.cuda.synchronize()
    target = launched.metadata.target
    compiled = launched.asm["ttir"], f"{target.backend}:{target.arch}"
    return {name: to_array(arguments[name]) for name in case.outputs}, compiled


def in_evaluator(case: Case, compiled: tuple[str, str]) -> dict[str, np.ndarray]:
    """Evaluate TTIR for its target on copies of the inputs; give the outputs."""
    arguments = copies(case, "cpu")
    module = parsed(generic_ttir(compiled[0]), compiled[1])
    bound = bind(case.kernel, arguments)
    parameters = module.main.arguments
    if len(parameters) != len(bound):
        # Triton leaves out arguments that it takes for constants: integers of value 1.
        bound = [argument for argument in bound if getattr(argument, "value", None) != 1]
    evaluate(module, bound, case.grid, kernel=case.kernel.fn.__name__)
    return {name: to_array(arguments[name]) for name in case.outputs}


def run(case: Case, device: str) -> Outcome:
    """Run one case both ways and compare."""
    outcome = Outcome(case)
    try:
        got, compiled = on_device(case, device)
    except Exception as error:
        name, lines = type(error).__name__, str(error).strip().splitlines() or [""]
        compiling = name in REFUSALS or "PassManager" in lines[-1]
        text = name if name == "PTXASError" else f"{name}: {lines[-1 if compiling else 0][:200]}"
        if compiling:
            outcome.refused = text
        else:
            outcome.error = f"GPU: {text}"
        return outcome
    try:
        wanted = in_evaluator(case, compiled)
    except Exception as error:
        outcome.error = f"evaluator: {type(error).__name__}: {str(error)[:300]}"
        traceback.print_exc(limit=-3)
        return outcome
    for name in case.outputs:
        outcome.differences.append((name, difference(got[name], wanted[name], case.device)))
    if case.op in HISTOGRAMS:
        outcome.ulps = errors(got, wanted, case)
    return outcome


def errors(got: Arrays, wanted: Arrays, case: Case) -> np.ndarray:
    """Differences in units in the last place, element by element."""
    from tests.kernels.case import SHORT, is_float, ulp

    name = case.outputs[0]
    dtype = SHORT[got[name].dtype]
    if not is_float(dtype):
        return np.zeros(0)
    a, b = got[name].astype(np.float64), wanted[name].astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    return np.abs(a - b)[finite] / ulp(b[finite], dtype)


def shuffled(case: Case, seed: int) -> Case | None:
    """The same case on other random floats of the same ranges; None where inputs are not such."""
    if told_only(case) or "patterns" in case.variant or case.op.startswith(("atomic_cas", "rand")):
        return None
    rng = random_of("differential", case.name, seed)
    inputs: dict[str, Any] = dict(case.inputs)
    changed = False
    for name, value in case.inputs.items():
        if name in case.outputs or not isinstance(value, np.ndarray) or value.dtype.itemsize < 4:
            continue
        if value.dtype.kind != "f" or value.size < 64 or not np.isfinite(value).all():
            continue
        low, high = float(value.min()), float(value.max())
        drawn = rng.uniform(low, high, value.shape).astype(value.dtype)
        whole = np.array_equal(value, np.round(value))
        inputs[name] = np.round(drawn) if whole else drawn
        changed = True
    return replace(case, inputs=inputs) if changed else None


def table(outcomes: Sequence[Outcome]) -> None:
    """One line for each op and type."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[(outcome.case.op, outcome.case.dtype)].append(outcome)
    print(f"{'op':32} {'type':8} {'cases':>5} {'worst ulp':>10} {'of largest':>11}  allowed, why")
    for (op, dtype), members in groups.items():
        judged = [m for m in members if not told_only(m.case)]
        if not judged:
            continue
        found = [d for m in judged for _, d in m.differences]
        worst = max((d.ulps for d in found), default=0.0)
        share = max((d.of_largest for d in found), default=0.0)
        bounds = {describe(m.case.device) for m in judged}
        mark = "  <<<" if any(m.failed for m in judged) else ""
        refused = sum(bool(m.refused) for m in judged)
        note = f" ({refused} not compiled)" if refused else ""
        print(
            f"{op[:32]:32} {dtype:8} {len(judged):5} {worst:10.3g} {share:11.3g}  "
            f"{'; '.join(sorted(bounds))[:110]}{note}{mark}"
        )


def describe(bound: Bound) -> str:
    parts = []
    if bound.ulps:
        parts.append(f"{bound.ulps:g} ulp")
    if bound.of_largest:
        parts.append(f"{bound.of_largest:.2g} of largest")
    return f"{' or '.join(parts)}: {bound.why}" if parts else "exact"


def histograms(outcomes: Sequence[Outcome]) -> None:
    """How many elements are how far off, in units in the last place."""
    groups: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.ulps is not None and outcome.ulps.size and not told_only(outcome.case):
            groups[(outcome.case.op, outcome.case.dtype)].append(outcome.ulps)
    heads = [f"<={edge:g}" for edge in EDGES] + ["more"]
    print(f"\nunits in the last place   {' '.join(f'{head:>7}' for head in heads)}")
    for (op, dtype), parts in groups.items():
        every = np.concatenate(parts)
        low, cells = -1.0, []
        for edge in (*EDGES, np.inf):
            cells.append(int(((every > low) & (every <= edge)).sum()))
            low = edge
        print(f"{op:14} {dtype:10} {' '.join(f'{cell:7d}' for cell in cells)}")


def special(outcomes: Sequence[Outcome]) -> None:
    """What was refused, what is undefined and differs, what failed."""
    refused = Counter(o.refused for o in outcomes if o.refused)
    for text, count in refused.most_common():
        names = [o.case.name for o in outcomes if o.refused == text][:4]
        print(f"not compiled or run, {count} cases: {text}\n    {', '.join(names)}")
    left_out = [case for case in CASES if case.not_launched]
    for case in left_out:
        print(f"left out, cannot run on Hopper: {case.name}: {case.not_launched}")
    told = [o for o in outcomes if told_only(o.case) and not o.refused]
    if told:
        print(f"\nundefined in Triton, or known to differ, {len(told)} cases; those that differ:")
    for outcome in told:
        for name, found in outcome.differences:
            if not found.within:
                why = told_only(outcome.case)
                print(
                    f"    {outcome.case.name} ({why}): {name}{list(found.place)}"
                    f" GPU {found.got!r}, evaluator {found.wanted!r}, {found.count} elements"
                )
    failed = [o for o in outcomes if o.failed]
    if failed:
        print(f"\nbeyond their bounds, or failed: {len(failed)} cases")
    for outcome in failed[: 4 * LISTED]:
        if outcome.error:
            print(f"    {outcome.case.name}: {outcome.error}")
        for name, found in outcome.differences:
            if not found.within:
                print(
                    f"    {outcome.case.name}: {name}{list(found.place)} GPU {found.got!r}, "
                    f"evaluator {found.wanted!r}; {found.ulps:.3g} ulp, {found.of_largest:.3g} of "
                    f"largest, {found.count} elements; allowed {describe(outcome.case.device)}"
                )


def worst(outcomes: Sequence[Outcome]) -> None:
    """Differences that come nearest to what is allowed."""
    rows: list[tuple[float, str]] = []
    for outcome in outcomes:
        bound = outcome.case.device
        if outcome.failed or told_only(outcome.case):
            continue
        for name, found in outcome.differences:
            share = min(
                found.ulps / bound.ulps if bound.ulps else np.inf,
                found.of_largest / bound.of_largest if bound.of_largest else np.inf,
            )
            if found.ulps and np.isfinite(share):
                text = (
                    f"{outcome.case.name}: {name} {found.ulps:.3g} ulp, {found.of_largest:.3g} of "
                    f"largest at {list(found.place)}: GPU {found.got!r}, evaluator {found.wanted!r}"
                )
                rows.append((share, text))
    print("\nnearest to their bounds:")
    for share, text in sorted(rows, reverse=True)[:LISTED]:
        print(f"    {share:5.0%} {text}")


def save(path: str, outcomes: Sequence[Outcome]) -> None:
    rows = [
        {
            "case": o.case.name,
            "refused": o.refused,
            "error": o.error,
            "failed": o.failed,
            "told_only": told_only(o.case),
            "outputs": {n: {"ulps": d.ulps, "of_largest": d.of_largest} for n, d in o.differences},
        }
        for o in outcomes
    ]
    with open(path, "w") as file:  # noqa: PTH123
        json.dump(rows, file)


@dataclass(frozen=True)
class Task:
    """Cases of the catalog by number, for one process."""

    device: str
    seed: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """What a process hands back of an outcome: everything but the case itself."""

    number: int
    differences: list[tuple[str, Difference]]
    error: str
    refused: str
    ulps: np.ndarray | None


@dataclass(frozen=True)
class Report:
    """What a process did of a task. `rest`: what it could not do any more; its end is near."""

    results: list[Result]
    rest: tuple[int, ...] = ()
    broken: bool = False


def work(task: Task) -> Report:
    """Run some cases, and their like with other inputs, in this process."""
    torch.set_num_threads(1)
    with_scratch_memory(task.device)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        if task.device == "cpu":
            import kvtrace

            with kvtrace.capture(f"{folder}/out"):
                return _report(task)
        return _report(task)


def _report(task: Task) -> Report:
    results: list[Result] = []
    for position, number in enumerate(task.numbers):
        for case in (CASES[number], shuffled(CASES[number], task.seed)):
            if case is None:
                continue
            done = run(case, task.device)
            results.append(Result(number, done.differences, done.error, done.refused, done.ulps))
            if done.error.startswith("GPU: ") and is_broken(task.device):
                return Report(results, task.numbers[position + 1 :], broken=True)
    return Report(results)


def is_broken(device: str) -> bool:
    """Return whether this process's CUDA context has an error that stays."""
    if device == "cpu":
        return False
    try:
        torch.cuda.synchronize()
        torch.zeros(1, device=device).add_(1).item()
    except RuntimeError:  # torch.AcceleratorError is one
        return True
    return False


def compare(device: str, numbers: Sequence[int], seed: int, workers: int) -> list[Outcome]:
    """Run cases in several processes: most of the time goes into compiling."""
    step = max(1, min(24, len(numbers) // workers))
    tasks = deque(
        Task(device, seed, tuple(numbers[start : start + step]))
        for start in range(0, len(numbers), step)
    )
    found: list[Result] = []
    threads = [threading.Thread(target=_serve, args=(tasks, found)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.sort(key=lambda result: result.number)
    return [Outcome(CASES[r.number], r.differences, r.error, r.refused, r.ulps) for r in found]


def _serve(tasks: deque[Task], found: list[Result]) -> None:
    """Have tasks done by a process, a fresh one after each that broke."""
    context = multiprocessing.get_context("spawn")
    while tasks:
        with ProcessPoolExecutor(1, mp_context=context) as process:
            _serve_while_sound(process, tasks, found)


def _serve_while_sound(
    process: ProcessPoolExecutor, tasks: deque[Task], found: list[Result]
) -> None:
    while True:
        try:
            task = tasks.popleft()
        except IndexError:
            return
        try:
            report = process.submit(work, task).result()
        except BrokenProcessPool:  # it died: case by case, to learn of which
            if len(task.numbers) > 1:
                tasks.extendleft(replace(task, numbers=(number,)) for number in task.numbers[::-1])
            else:
                found.append(Result(task.numbers[0], [], "GPU: the process died", "", None))
            return
        found.extend(report.results)
        if report.rest:
            tasks.appendleft(replace(task, numbers=report.rest))
        if report.broken:
            return


def with_scratch_memory(device: str) -> None:
    """Descriptors that kernels make need memory for themselves."""

    def allocated(size: int, _alignment: int, _stream: Any) -> torch.Tensor:
        return torch.empty(size, dtype=torch.int8, device=device)

    triton.set_allocator(allocated)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options.add_argument("--only", default="", help="run cases whose names hold one of the words")
    options.add_argument("--seed", type=int, default=1)
    workers = max(1, min(12, (os.cpu_count() or 1) - 2))
    options.add_argument("--workers", type=int, default=workers, help="processes")
    options.add_argument(
        "--everything", action="store_true", help="also what Hopper is known not to run"
    )
    options.add_argument("--json", default="", help="write all figures to a file")
    chosen = options.parse_args()
    words = chosen.only.split()
    numbers = [
        number
        for number, case in enumerate(CASES)
        if (chosen.everything or not case.not_launched)
        and (not words or any(word in case.name for word in words))
    ]
    begin = time.perf_counter()
    outcomes = compare(chosen.device, numbers, chosen.seed, chosen.workers)
    machine = "kvtrace's own driver, which proves nothing"
    if chosen.device == "cuda":
        machine = f"{torch.cuda.get_device_name()}, {driver.active.get_current_target()}"
    table(outcomes)
    histograms(outcomes)
    worst(outcomes)
    special(outcomes)
    if chosen.json:
        save(chosen.json, outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    refused = sum(bool(outcome.refused) for outcome in outcomes)
    print(
        f"\n{machine}; triton {triton.__version__}, torch {torch.__version__}, numpy "
        f"{np.__version__}; {len(outcomes)} runs of {len(numbers)} cases in "
        f"{time.perf_counter() - begin:.0f} s; {failed} beyond their bounds, {refused} not compiled"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
