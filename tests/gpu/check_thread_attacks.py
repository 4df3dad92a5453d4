"""To be run by hand on a machine with a GPU: what launches leave whose threads or programs meet.

    python tests/gpu/check_thread_attacks.py [--only WORDS] [--launches N]

Each kernel of corpus/races is launched many times, on new tensors, and what it
leaves is compared with what kvtrace's evaluator leaves, which does all in the kernel's order. Right
ones are to have no wrong element. Of wrong ones it is counted how often the device shows it, which
it need not.

What the evaluator leaves, and kvtrace's answers, come from a child that sees no GPU. A kernel that
does not end within a minute ends this, with its name printed last. Ends with 1 if a right kernel,
or one that kvtrace proves, was wrong.
"""

import argparse
import faulthandler
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import triton

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]


import kvtrace  # noqa: E402
from corpus import load  # noqa: E402
from corpus.case import Case  # noqa: E402
from corpus.questions.races import ATTACKS  # noqa: E402

CASE_SECONDS = 60
#: Relative and absolute difference by which a GPU may round floats otherwise than the evaluator.
ROUNDED = (1e-4, 1e-4)

#: Right kernels that the compiler gets wrong: what its PTX does otherwise than TTIR says.
MISCOMPILED = {
    "remainder of negative numbers": "Triton 3.5.1 to 3.9.0 load (lanes - 512) % 4 as four "
    "elements behind each other (ld.global.v4), where it is 0, -3, -2, -1",
}


def evaluated(path: Path, cases: Sequence[Case]) -> None:
    """Write what each kernel leaves in order, and what kvtrace answers; sees no GPU."""
    found: dict[str, Any] = {}
    for case in cases:
        with tempfile.TemporaryDirectory() as folder, kvtrace.capture(folder):
            left = [each.clone() for each in ATTACKS[case.name].launch()]
        found[case.name] = left, str(case.ask())
    torch.save(found, path)


def wrong_elements(case: Case, expected: Sequence[torch.Tensor], launches: int) -> tuple[int, int]:
    """Launch a kernel many times; return in how many something is wrong, and how many elements."""
    wanted = [each.cuda() for each in expected]
    counts = torch.zeros(launches, dtype=torch.int64, device="cuda")
    faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
    for number in range(launches):
        for now, right in zip(ATTACKS[case.name].launch("cuda"), wanted, strict=True):
            allowed = ROUNDED if now.is_floating_point() else (0.0, 0.0)
            counts[number] += (~torch.isclose(now, right, *allowed, equal_nan=True)).sum()
    wrong = int((counts > 0).sum()), int(counts.sum())
    faulthandler.cancel_dump_traceback_later()
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="cases whose names hold WORDS")
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = [case for case in load("races") if options.only in case.name]
    if options.evaluate is not None:
        evaluated(options.evaluate, cases)
        return 0
    print(f"{torch.cuda.get_device_name()}, triton {triton.__version__}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evaluated.pt"
        command = [sys.executable, __file__, "--only", options.only, "--evaluate", str(path)]
        kept = {name: text for name, text in os.environ.items() if not name.startswith("KVTRACE")}
        subprocess.run(command, env={**kept, "CUDA_VISIBLE_DEVICES": ""}, check=True)
        left: dict[str, Any] = torch.load(path)
    failures = shown = 0
    for case in cases:
        expected, answer = left[case.name]
        print(f"{case.name:48}", end=" ", flush=True)
        launches, elements = wrong_elements(case, expected, options.launches)
        known = MISCOMPILED.get(case.name, "")
        bad = launches > 0 and not known and (case.right or answer == "yes")
        failures += bad
        shown += launches > 0 and not case.right
        is_right = "right" if case.right else "wrong"
        print(
            f"{is_right:6}{answer:8} {launches:>6,} launches {elements:>9,} elements wrong"
            f"{'  FALSE' if bad else known and f'  ({known})'}",
            flush=True,
        )
    wrong = sum(not case.right for case in cases)
    print(
        f"{failures} false, {shown} of {wrong} wrong kernels shown in {options.launches} launches"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
