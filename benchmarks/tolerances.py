"""Derived tolerances compared with tolerances chosen by hand, for right kernels and mutants.

    python benchmarks/tolerances.py --seeds 20

For kernels of FLA, Liger and vLLM, and of the operations in Triton's tutorials, with the tolerances
of their tests: by how much the derived bound is narrower, whether the right kernel stays within it
for inputs of many seeds and sums in several orders, and which mutants (a dropped term, a sum in 16
bits, a mask off by one, tf32, no eps …) each of both notices. Everything runs in the evaluator;
tests/gpu/check_public_tolerances.py has the same cases on a GPU. Packages are imported as
tests/public does; the cases of those that are not there are left out and named.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
import triton

import kvtrace
from benchmarks.tolerance_cases import (
    F32,
    Case,
    CaseResult,
    derived_for,
    folder_of,
    inputs,
    loaded,
    run,
)
from benchmarks.tolerance_libraries import fla_cases, vllm_cases
from benchmarks.tolerance_liger import cases as liger_cases
from kvtrace.addons.tolerance.launched import TARGET, copied_arguments
from kvtrace.addons.tolerance.testing import NotClose, compared
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.fixed_order import in_fixed_order
from kvtrace.evaluate.rounding import from_memory
from kvtrace.schema.errors import KvtraceError


def chosen_cases(part: str) -> list[Case]:
    """Return the cases whose names contain a text, and whose packages are there."""
    cases = [case for case in (*liger_cases(), *fla_cases(), *vllm_cases()) if part in case.name]
    missing = {case.library for case in cases if folder_of(case.library) is None}
    if missing:
        print(f"not there, so without their cases: {', '.join(sorted(missing))}")
    return [case for case in cases if case.library not in missing]


def in_another_order(ran: CaseResult) -> np.ndarray:
    """Return a launch's output, evaluated with sums in the fixed order."""
    arguments = copied_arguments(ran.launch.arguments)
    with in_fixed_order():
        evaluate(ran.launch.module, arguments, ran.launch.grid, kernel=ran.launch.kernel)
    tensor = next(argument for argument in arguments if argument.name == ran.name)
    assert isinstance(tensor, TensorArgument)
    assert tensor.storage.data is not None
    values = from_memory(tensor.storage.data.view(tensor.element.memory), tensor.element)
    return np.array(values[: ran.actual.size].reshape(ran.actual.shape), np.float64)


def in_torch(case: Case, seed: int) -> np.ndarray:
    """Return the reference's formula computed by torch in float32, with torch's order of sums."""
    return case.reference(*inputs(case, seed)).detach().double().numpy()


def judge_right(case: Case, module: Any, seeds: int) -> dict[str, Any]:
    """Return failures and widths of both tolerances for the right kernel, over `seeds` seeds."""
    failures: Counter[str] = Counter()
    factors, nearest, of_grant = [], 0.0, 0.0
    for seed in range(seeds):
        ran = run(case, module, seed)
        derived, output = derived_for(case, ran)
        runs = {"arrays": ran.actual, "fixed order": in_another_order(ran)}
        if case.dtype == F32:
            runs["torch"] = in_torch(case, seed)
        if not case.hand.passes(ran.actual, ran.wanted):
            failures["by hand"] += 1
        radius = output.radius()
        for order, values in runs.items():
            found = compared(values, derived, output, "probable") or "; ".join(derived.refused)
            if found:  # torch computes in other ways, which may lose more than the kernel's
                failures["torch" if order == "torch" else f"derived, {order}"] += 1
                print(f"  {case.name}, seed {seed}, {order}: {found}", file=sys.stderr)
            away = np.abs(values.reshape(radius.shape) - output.expected)
            share = np.where(radius > 0, away / np.where(radius > 0, radius, 1), 0.0)
            if order != "torch":
                nearest = max(nearest, float(share[np.isfinite(share)].max(initial=0.0)))
                of_grant = max(of_grant, float((away / output.granted).max(initial=0.0)))
        factors.append(case.hand.times_looser(output))
    return {
        "looser": float(np.median(factors)), "nearest": nearest, "of grant": of_grant,
        "failures": dict(failures),
        "undecided": output.undecided, "worst": output.as_rtol("worst") / output.as_rtol(),
    }  # fmt: skip


def judge_mutant(case: Case, module: Any, seeds: int) -> dict[str, bool]:
    """Return which checks reject a mutant for any of the seeds, by hand and derived."""
    noticed = dict.fromkeys(("hand", "radius", "meaning", "refused", "derived", "unknown"), False)
    for seed in range(seeds):
        ran = run(case, module, seed)
        noticed["hand"] |= not case.hand.passes(ran.actual, ran.wanted)
        try:
            derived, output = derived_for(case, ran)
            difference = compared(ran.actual, derived, output, "probable")
            radius_difference = compared(ran.actual, derived, output, "probable", meaning=False)
        except (KvtraceError, NotClose):
            noticed["unknown"] = True
            continue
        noticed["radius"] |= radius_difference is not None
        noticed["meaning"] |= difference is not None and difference.cause == "meaning"
        noticed["refused"] |= bool(derived.refused)
        noticed["derived"] |= difference is not None or bool(derived.refused)
    return noticed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each right kernel")
    parser.add_argument("--mutant-seeds", type=int, default=1, help="of each mutant")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--json", type=Path, help="write all figures there, too")
    options = parser.parse_args()
    start = time.perf_counter()
    right, mutants = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        around = kvtrace.capture(
            folder / "trace",
            target=TARGET,
            device="cpu",
            compile="ttir",
            tensors="none",
            source="off",
        )
        with around:
            for case in chosen_cases(options.only):
                found = right[case.name] = judge_right(
                    case, loaded(case.file, folder), options.seeds
                )
                print(
                    f"{case.name:36} by hand {case.hand!s:16}: looser by "
                    f"{found['looser']:9.3g}, nearest {found['nearest']:5.3f}, "
                    f"of what the problem grants {found['of grant']:5.3f}, "
                    f"failures {found['failures'] or 0}", flush=True,
                )  # fmt: skip
                for mutant in case.mutants:
                    if mutant[0] == "tf32" and case.dtype != F32:
                        continue  # which changes nothing
                    try:
                        module = loaded(case.file, folder, mutant)
                        noticed = judge_mutant(case, module, options.mutant_seeds)
                    except Exception as error:  # noqa: BLE001 - a mutant that does not compile
                        print(f"    {mutant[0]}: {type(error).__name__} {error}"[:160])
                        continue
                    mutants.append({"case": case.name, "kind": mutant[0], **noticed})
                    who = ", ".join(name for name, seen_ in noticed.items() if seen_)
                    print(f"    {mutant[0]:18} noticed by: {who or 'nobody'}", flush=True)
    print_sums(right, mutants, time.perf_counter() - start)
    if options.json:
        options.json.write_text(json.dumps({"right": right, "mutants": mutants}, indent=1))


def print_sums(right: dict[str, Any], mutants: list[dict[str, Any]], seconds: float) -> None:
    """Print the totals over all kernels and mutants."""
    tighter = sum(found["looser"] > 1 for found in right.values())
    failing = sum(any(k.startswith("derived") for k in f["failures"]) for f in right.values())
    print(
        f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"torch {torch.__version__}, Triton {triton.__version__}; {seconds:.0f} s"
    )
    print(f"{len(right)} cases: derived tighter in {tighter}; right kernels that fail: {failing}")
    beyond = sum(found["failures"].get("torch", 0) for found in right.values())
    print(f"results of torch in float32, by its own formulas, beyond the kernels' bounds: {beyond}")
    total = len(mutants)
    for who in ("hand", "radius", "meaning", "refused", "derived", "unknown"):
        print(f"mutants noticed by {who}: {sum(m[who] for m in mutants)} of {total}")
    for kind in dict.fromkeys(m["kind"] for m in mutants):
        of_kind = [m for m in mutants if m["kind"] == kind]
        print(f"  {kind:18} {len(of_kind):3}: hand {sum(m['hand'] for m in of_kind):3}, "
              f"derived {sum(m['derived'] for m in of_kind):3}")  # fmt: skip


if __name__ == "__main__":
    main()
