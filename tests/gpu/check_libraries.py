"""To be run by hand on a machine with an NVIDIA GPU: library kernels, each launch checked.

    python tests/gpu/check_libraries.py fla [--warps 4 2 8] [--dtypes float32 bfloat16 float16]
                                            [--stages 2 3 4] [--only WORDS] [--workers N]
    python tests/gpu/check_libraries.py liger

Runs FLA's or Liger's operators forward and backward on the GPU, each in a process of its own, under
KVTRACE_CHECK=first, and then compares what each kernel left in memory with what its TTIR means. FLA
is the one on the path, so that an old release can be looked at. `--warps` restricts what autotuners
may choose to one configuration with so many warps, where they have one. Prints differences, counts
of answers beside those of `pipeline-order`, and what could not be decided and why.
"""

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

MARK = "@row "
ONE_CASE_S = 240


def restrict_autotuners(warps: int, stages: int) -> None:
    """Leave every autotuner one configuration: of so many warps and stages, or the nearest."""
    from triton.runtime.autotuner import Autotuner

    made = Autotuner.__init__

    def one(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        self.configs = sorted(
            self.configs, key=lambda each: (each.num_warps != warps, each.num_stages != stages)
        )[:1]

    Autotuner.__init__ = one


def larger(name: str) -> None:
    """Operators at sizes at which miscompilations were reported, forward and backward."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(1)
    shape = (1, 256, 2, int(name.rpartition("-")[2]))
    q, v = (torch.randn(shape) for _ in range(2))
    k = F.normalize(torch.randn(shape).float(), dim=-1).to(q.dtype)
    share = torch.rand(shape[:3]).sigmoid()
    decay = F.logsigmoid(torch.rand(shape[:3]))
    wide = F.logsigmoid(torch.rand(shape))
    for each in (q, k, v, share, decay, wide):
        each.requires_grad_()
    if name.startswith("gated_delta"):
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule as function

        given: dict[str, Any] = {"g": decay, "beta": share}
    elif name.startswith("delta"):
        from fla.ops.delta_rule import chunk_delta_rule as function

        given = {"beta": share}
    elif name.startswith("simple_gla"):
        from fla.ops.simple_gla import chunk_simple_gla as function

        given = {"g": decay}
    else:
        from fla.ops.gla import chunk_gla as function

        given = {"g": wide}
    out = function(q, k, v, **given)[0]
    out.backward(torch.randn_like(out))
    torch.cuda.synchronize()


LARGER = tuple(
    f"{name}-{width}"
    for name in ("delta", "gated_delta", "simple_gla", "gla")
    for width in (64, 100, 128)
)


def case_names(package: str) -> list[str]:
    if package == "fla":
        from tests.public.work import cases_of

        return [*LARGER, *cases_of("fla")]
    from tests.kernels import liger_operators

    return list(liger_operators.OPERATORS)


def run_case(package: str, name: str) -> str | None:
    """Run a case; say how it differs from the library's own reference, where that is known."""
    import torch

    told = None

    if name in LARGER:
        larger(name)
    elif package == "fla":
        from tests.public.case import difference
        from tests.public.work import cases_of

        torch.manual_seed(20)
        outcome = cases_of("fla")[name].run()
        if outcome.wanted is not None:
            told = difference(outcome.got, outcome) or "equal to the reference"
    else:
        from tests.kernels import liger_operators

        operator = liger_operators.OPERATORS[name]
        inputs = operator.inputs()
        for place, each in enumerate(inputs):
            if each.is_floating_point() and place not in operator.fixed:
                each.requires_grad_()
        got = operator.ours(*inputs)
        first = got if isinstance(got, torch.Tensor) else got[0]
        if first.requires_grad:
            first.backward(torch.randn_like(first))
    torch.cuda.synchronize()
    return told


def one_case(package: str, name: str, warps: int, stages: int, dtype: str) -> None:
    """Run and check one case; print a line of JSON for each launch."""
    import torch

    import kvtrace

    restrict_autotuners(warps, stages)
    torch.set_default_device("cuda")
    torch.set_default_dtype(getattr(torch, dtype))
    error, reference = "", None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        with kvtrace.capture(out, check="first", tensors="none"):
            try:
                reference = run_case(package, name)
            except Exception as failure:
                error = f"{type(failure).__name__}: {str(failure)[:160]}"
        torch.set_default_device("cpu")
        for row in checked_rows(out):
            print(MARK + json.dumps(row), flush=True)
    print(MARK + json.dumps({"end": error, "reference": reference}), flush=True)


def checked_rows(out: Path) -> Any:
    import kvtrace
    from kvtrace.addons.check.checked_runs import recorded_ttgir
    from kvtrace.addons.check.checking import fault_of
    from kvtrace.addons.check.comparing import compared, computed
    from kvtrace.addons.check.kept import checked_launches
    from kvtrace.recorded_calls.recorded import UnreadyCall
    from kvtrace.schema.trace import open_trace
    from kvtrace.verdicts.locating import pattern, writers

    order: dict[str, set[str]] = defaultdict(set)  # of variants of a name there is one here
    for finding in kvtrace.open(out).sanitize("pipeline-order", proven=True):
        order[finding.kernel].add(finding.verdict)
    trace = open_trace(out)
    for run in trace.runs:
        kernels = {}
        for row in trace.table("kernels", (run,), columns=["kernel_id", "num_warps"]).to_pylist():
            kernels[row["kernel_id"]] = row
        of_call = {
            row["call_id"]: kernels[row["kernel_id"]]
            for row in trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist()
        }
        ttgir = recorded_ttgir(trace, run)
        for launch in checked_launches(trace, run):
            begin = time.perf_counter()
            if isinstance(launch, UnreadyCall):
                yield {"kernel": launch.kernel, "answer": "unready", "reason": launch.reason}
                continue
            meant = computed(launch)
            found = compared(meant)
            row = {
                "kernel": launch.kernel, "answer": found.answer, "reason": found.reason[:200],
                "warps": of_call[launch.call_id].get("num_warps"), "grid": launch.call().grid,
                "order": "/".join(sorted(order[launch.kernel])),
                "programs": launch.programs and len(launch.programs),
                "elements": sum(each.elements for each in found.tensors),
                "undecided": sum(each.undecided for each in found.tensors),
                "nearest": max((each.nearest for each in found.tensors), default=0.0),
                "bound": max((each.bound for each in found.tensors), default=0.0),
                "wrong": [],
            }  # fmt: skip
            if found.answer == "differs":
                row["stage"] = fault_of(launch, meant.known, ttgir).text
            for each in found.tensors:
                if not len(each.differing):
                    continue
                call = launch.call()
                places = writers(call, (each.position,), each.differing, None)
                count = call.grid[0] * call.grid[1] * call.grid[2]
                said = "" if places is None else pattern(call, places, count)
                row["wrong"].append(
                    [each.argument, each.dtype, len(each.differing), each.elements,
                     repr(each.worst), said]
                )  # fmt: skip
            row["seconds"] = round(time.perf_counter() - begin, 2)
            yield row


def in_a_process(work: tuple[str, str, int, int, str]) -> list[dict[str, Any]]:
    package, name, warps, stages, dtype = work
    settings = [str(warps), str(stages), dtype]
    command = [sys.executable, __file__, package, "--case", name, *settings]
    head = {"case": name, "asked": warps, "stages": stages, "as": dtype}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ONE_CASE_S, check=False
        )
        text, error = done.stdout, done.stderr[-200:] if done.returncode else ""
    except subprocess.TimeoutExpired as expired:
        text, error = str(expired.stdout or ""), "took too long"
    found = [json.loads(line[len(MARK) :]) for line in text.splitlines() if line.startswith(MARK)]
    rows = [head | row for row in found if "end" not in row]
    ends = [row for row in found if "end" in row] or [{"end": error or "it ended early"}]
    return [*rows, head | ends[0]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("package", choices=["fla", "liger"])
    parser.add_argument("--warps", nargs="*", type=int, default=[4])
    parser.add_argument("--dtypes", nargs="*", default=["float32"])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--seconds", type=int, default=500)
    parser.add_argument("--case", nargs=4)
    parser.add_argument("--stages", nargs="*", type=int, default=[2])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.case:
        name, warps, stages, dtype = given.case
        one_case(given.package, name, int(warps), int(stages), dtype)
        return
    names = [
        each
        for each in case_names(given.package)
        if not given.only or any(word in each for word in given.only)
    ]
    works = [
        (given.package, name, warps, stages, dtype)
        for dtype in given.dtypes
        for warps in given.warps
        for stages in given.stages
        for name in names
    ]
    rows: list[dict[str, Any]] = []
    until = time.monotonic() + given.seconds
    pool = concurrent.futures.ThreadPoolExecutor(given.workers)
    waiting = [pool.submit(in_a_process, work) for work in works]
    for each in waiting:
        try:
            rows += each.result(timeout=max(0.0, until - time.monotonic()))
        except concurrent.futures.TimeoutError:
            continue
    pool.shutdown(wait=False, cancel_futures=True)
    if given.json:
        given.json.write_text("\n".join(map(json.dumps, rows)))
    for row in rows:
        if row.get("answer") == "differs":
            print("DIFFERS", row["case"], row["as"], row["kernel"], f"num_warps={row['warps']}",
                  f"num_stages={row['stages']} grid={row['grid']}", *row["wrong"])  # fmt: skip
            print("  ", row["stage"], "| pipeline-order:", row["order"])
        elif row.get("reference") and row["reference"] != "equal to the reference":
            print("REFERENCE", row["case"], row["as"], row["asked"], row["reference"][:200])
    ends = Counter(row["end"][:110] for row in rows if row.get("end"))
    reasons = Counter(row["reason"][:110] for row in rows if row.get("answer") == "undecided")
    print("cases that ended in an error:", *ends.most_common(12), sep="\n  ")
    print("undecided:", *reasons.most_common(20), sep="\n  ")
    print(Counter(row["answer"] for row in rows if "answer" in row), "of", len(works), "processes,",
          len({row["kernel"] for row in rows if "kernel" in row}), "kernels")  # fmt: skip
    both = Counter((row["answer"], row["order"]) for row in rows if "order" in row)
    print("beside pipeline-order:", *both.most_common(), sep="\n  ")
    found = {(row["kernel"], row["warps"], row["stages"], row["as"]) for row in rows
             if row.get("order") == "violation"}  # fmt: skip
    print("violations of it:", *sorted(found, key=str), sep="\n  ")
    nearest = sorted((row for row in rows if row.get("nearest")), key=lambda r: -r["nearest"])
    print("nearest to their bounds:", *((r["nearest"], r["kernel"], r["as"], r["bound"])
                                       for r in nearest[:8]), sep="\n  ")  # fmt: skip
    sys.stdout.flush()
    import os

    os._exit(0)


if __name__ == "__main__":
    main()
