"""To be run by hand on a machine with an NVIDIA GPU: the catalog's cases there, and checked.

    python tests/gpu/check_oracle.py [--only WORDS] [--workers N]

Each case's kernel runs on the GPU; then its outputs are compared with what its TTIR means, within
the bounds that kvtrace derives (evaluate/shadows/errors). Every difference is a false alarm, or a
defect of Triton's or of ours. Prints differences, what could not be decided, and for each op how
near to their bounds the GPU's results came. Ends with 1 where a case differs that is not known to.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np

MARK = "@row "


def checked(case: Any) -> dict[str, Any]:
    """Run a case on the device and check it."""
    from kvtrace.addons.check.comparing import compared, computed
    from kvtrace.addons.check.kept import CheckedLaunch, Piece, StorageAfter
    from kvtrace.backends.compiled_kernels.generic import generic_ttir
    from kvtrace.evaluate import TensorArgument, parsed
    from kvtrace.recorded_calls.recorded import Call
    from tests.gpu.differential import copies, on_device, told_only
    from tests.kernels.launching import bind

    got, (ttir, target) = on_device(case, "cuda")
    module = parsed(generic_ttir(ttir), target)
    held = []

    def again() -> Call:
        given = copies(case, "cpu")
        held.append(given)  # whose memory the storages are
        bound = bind(case.kernel, given)
        if len(module.main.arguments) != len(bound):
            bound = [each for each in bound if getattr(each, "value", None) != 1]
        x, y, z = (*case.grid, 1, 1)[:3]
        return Call(1, case.name, (x, y, z), module, tuple(bound), ())

    after = tuple(
        StorageAfter(
            place,
            (place,),
            (Piece(0, np.ascontiguousarray(got[each.name]).reshape(-1).view(np.uint8)),),
        )
        for place, each in enumerate(again().arguments)
        if isinstance(each, TensorArgument) and each.name in case.outputs
    )
    found = compared(computed(CheckedLaunch(0, 1, case.name, "", None, again, after)))
    return {
        "case": case.name,
        "op": case.op,
        "answer": found.answer,
        "reason": found.reason[:160],
        "told": told_only(case),
        "nearest": max((each.nearest for each in found.tensors), default=0.0),
        "bound": max((each.bound for each in found.tensors), default=0.0),
        "tensors": [
            (each.argument, each.elements, each.undecided, len(each.differing), repr(each.worst))
            for each in found.tensors
            if len(each.differing)
        ],
    }


def work(start: int, step: int, words: list[str]) -> None:
    """Print a line of JSON for each case of a worker."""
    import torch
    import triton

    from tests.gpu.differential import REFUSALS
    from tests.kernels.catalog import CASES

    triton.set_allocator(
        lambda size, _align, _stream: torch.empty(size, device="cuda", dtype=torch.int8)
    )
    chosen = [each for each in CASES if not words or any(word in each.name for word in words)]
    for number in range(start, len(chosen), step):
        case = chosen[number]
        print(MARK + json.dumps({"begin": number}), flush=True)
        if case.not_launched:
            continue
        try:
            row = checked(case)
        except Exception as error:
            kind = type(error).__name__
            if "CUDA" in str(error) or "illegal" in str(error):
                raise
            answer = "refused" if kind in REFUSALS else "failed"
            row = {"case": case.name, "op": case.op, "answer": answer, "told": "",
                   "reason": f"{kind}: {str(error)[:200]}", "tensors": []}  # fmt: skip
        print(MARK + json.dumps(row), flush=True)


def all_rows(workers: int, words: list[str]) -> list[dict[str, Any]]:
    """Run the cases in processes of their own; one that dies is replaced."""
    from tests.kernels.catalog import CASES

    count = len([each for each in CASES if not words or any(w in each.name for w in words)])
    rows: list[dict[str, Any]] = []
    waiting = [(first, workers) for first in range(workers)]
    while waiting:
        running = [
            (first, step, subprocess.Popen(
                [sys.executable, __file__, "--work", str(first), str(step), *words],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            ))
            for first, step in waiting
        ]  # fmt: skip
        waiting = []
        for first, step, process in running:
            begun = first
            for line in process.communicate()[0].splitlines():
                _, ours, text = line.partition(MARK)
                if not ours:
                    continue  # what a kernel printed
                row = json.loads(text)
                if "begin" in row:
                    begun = row["begin"]
                else:
                    rows.append(row)
            if process.returncode and begun + step < count:
                waiting.append((begun + step, step))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--work", nargs="*")
    given = parser.parse_args()
    if given.work:
        work(int(given.work[0]), int(given.work[1]), given.work[2:])
        return 0
    rows = all_rows(given.workers, given.only)
    answers: dict[str, int] = defaultdict(int)
    nearest: dict[str, tuple[float, str]] = {}
    for row in rows:
        answers[row["answer"]] += 1
        if row.get("nearest", -1.0) > nearest.get(row["op"], (-1.0, ""))[0]:
            nearest[row["op"]] = (row["nearest"], row["case"])
        if row["answer"] != "agrees":
            print(row["answer"], row["case"], row["told"] and f"({row['told']})", row["reason"],
                  *row["tensors"])  # fmt: skip
    print("how much of its bound the farthest element used, by op:")
    for op, (part, case) in sorted(nearest.items(), key=lambda item: -item[1][0])[:60]:
        print(f"  {part:6.3f} {op} ({case})")
    print(dict(answers), f"of {len(rows)}")
    return int(any(row["answer"] == "differs" and not row["told"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
