"""KernelBench's first level: kernels of torch.compile compared with plain kernels.

    python benchmarks/kernelbench_kernels.py FOLDER [--only NAME] [--judge]

records each operator's generated kernel, a plain kernel that computes the operator as its
definition says, and a twin of that with a small mistake, without a GPU; and compares the generated
kernel with both by `kvtrace.addons.invariance.versions`. Answers are checked: what is the same
except for the order of sums must agree in the evaluator, and no wrong twin may be the same.

Products are Inductor's own templates (max_autotune with Triton alone), in one configuration.
"""

import argparse
import os
import shutil
import sys
import time
import traceback
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a worker has no GPU at all

import torch  # noqa: E402

import kvtrace  # noqa: E402
from benchmarks.kernelbench.operators import LEFT_OUT, OPERATORS, Operator  # noqa: E402
from kvtrace.addons.invariance.kernels import Kernel  # noqa: E402
from kvtrace.addons.invariance.versions import OutputMeaning, same_meaning  # noqa: E402
from kvtrace.figures.times import host_times  # noqa: E402
from kvtrace.recorded_calls.recorded import Call, calls_of  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402

SETTINGS: dict[str, Any] = {
    "max_autotune_gemm": True,
    "max_autotune_gemm_backends": "TRITON",
    "shape_padding": False,
}
SAME = ("same", "equal", "reassociated", "exact")


def recorded(one: Operator, folder: Path) -> None:
    """Record an operator's generated kernel, plain kernel and wrong twin in folders."""
    shutil.rmtree(folder, ignore_errors=True)
    with kvtrace.capture(folder / "generated", target="cuda:90", device="cpu"):
        torch._dynamo.reset()
        _choose_first()
        with torch._inductor.config.patch(SETTINGS):
            out = torch.compile(one.compute, dynamic=False)(*_inputs(one))
    for name, choice in (("plain", one.right), ("wrong", one.wrong)):
        with kvtrace.capture(folder / name, target="cuda:90", device="cpu"):
            one.launch(choice, _inputs(one), torch.empty_like(out))


@cache
def _choose_first() -> None:
    """Limit Inductor to its first configuration, so that it measures none."""
    from torch._inductor import select_algorithm  # asks for the GPU when it is imported

    def first(choices: list[Any]) -> list[Any]:
        templates = ("triton_mm", "triton_bmm")
        return [choice for choice in choices if choice.name.startswith(templates)][:1] or choices[
            :1
        ]

    select_algorithm.add_preprocessing_fn(first)


def _inputs(one: Operator) -> tuple[torch.Tensor, ...]:
    return tuple(one.make(*shape, device="cuda") for shape in one.shapes)


def call_of(folder: Path) -> Call | str:
    """Return the only recorded call that is not an autotuner's, or a text on why it is missing."""
    trace = open_trace(folder)
    times = host_times(trace, trace.runs).calls.to_pylist()
    ran = {row["call_id"] for row in times if row["launches"]}
    kernel_calls = [
        call for run in trace.runs for call in calls_of(trace, run) if call.call_id in ran
    ]
    if len(kernel_calls) != 1:
        return f"{len(kernel_calls)} kernels" if kernel_calls else "a library's kernel"
    return kernel_calls[0] if isinstance(kernel_calls[0], Call) else "its IR is missing"


def match_of(generated: Call, plain: Call, order: tuple[int, ...] | None) -> dict[str, str]:
    """Return the generated kernel's argument name for each tensor argument of the plain kernel."""
    names = []
    for call in (generated, plain):
        kernel = Kernel(call)
        stored = {kernel.name(a.argument) for a in kernel.summary.accesses if a.kind != "load"}
        loaded = {kernel.name(a.argument) for a in kernel.summary.accesses if a.kind == "load"}
        inputs = [name for name in kernel.names if name in loaded - stored]
        names.append((inputs, [name for name in kernel.names if name in stored]))
    (inputs, outputs), (plain_inputs, plain_outputs) = names
    if order is not None:
        inputs = [inputs[place] for place in order]
    return dict(zip([*plain_inputs, *plain_outputs], [*inputs, *outputs], strict=False))


def answers(one: Operator, folder: Path) -> dict[str, Any]:
    """Return the results of comparing the generated kernel with the plain kernel and the twin."""
    generated = call_of(folder / "generated")
    if isinstance(generated, str):
        return {"right": "not compared", "wrong": "", "why": generated}
    row: dict[str, Any] = {"kernel": generated.kernel, "why": ""}
    for name in ("plain", "wrong"):
        compared_call = call_of(folder / name)
        assert isinstance(compared_call, Call), compared_call
        begin = time.perf_counter()
        meanings = same_meaning(
            generated, compared_call, match_of(generated, compared_call, one.inputs)
        )
        row["seconds_" + name] = time.perf_counter() - begin
        worst = _worst(meanings)
        row["right" if name == "plain" else "wrong"] = worst.meaning
        if name == "plain" and worst.meaning not in SAME[:2]:
            row["why"] = f"{worst.first} | {worst.second}" if worst.first else ""
    return row


def _worst(meanings: tuple[OutputMeaning, ...]) -> OutputMeaning:
    order = (*SAME, "sampled", "unknown", "different", "violation")
    return max(meanings, key=lambda each: order.index(each.meaning))


def main() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--judge", action="store_true", help="compare what FOLDER holds")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    mistakes = 0
    for operator in sorted(OPERATORS, key=lambda each: each.number):
        if options.only not in (None, operator.name):
            continue
        folder = options.folder / str(operator.number)
        try:
            if not options.judge:
                recorded(operator, folder)
            row = answers(operator, folder)
        except Exception:  # noqa: BLE001 — one that fails is a row of the table
            traceback.print_exc()
            row = {"right": "failed", "wrong": "failed", "why": ""}
        counts[row["right"]] += 1
        wrong = row["right"] == "violation" or row["wrong"] in SAME
        mistakes += wrong
        print(f"{operator.number:3} {operator.name:28} {row['right']:13} {row['wrong']:13}"
              f"{'WRONG ' if wrong else ''}{row['why'][:140]}", flush=True)  # fmt: skip
    print(", ".join(f"{count} {meaning}" for meaning, count in counts.most_common()))
    print(f"{mistakes} wrong answers")
    for operator_name, why in LEFT_OUT.items():
        print(f"left out: {operator_name}: {why}")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
