"""To be run by hand on a machine with a GPU: judging while a program runs (KVTRACE_SANITIZE).

    python tests/gpu/check_live.py [--device cuda|cpu]

A sound call is launched and a defective one is not, under Triton and, on a GPU, under
torch.compile; what was found is in the trace. Then the cost: of a launch of a known call with and
without judging (minimum over rounds, each kind in turn), and of a new call.

Ends with 1 if anything is not as it should be. `--device cpu` goes through kvtrace's driver, to try
this program; its times of launches are then the evaluator's.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import kvtrace  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.backends import live_kernels as kernels  # noqa: E402

ROUNDS = 15


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = options.parse_args().device
    with tempfile.TemporaryDirectory() as folder:
        problems = triton_launches(Path(folder), device)
        if device == "cuda":
            problems += compiled_launches(Path(folder))
        costs(Path(folder), device)
    for problem in problems:
        print(f"WRONG: {problem}")
    print("as it should be" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


def triton_launches(folder: Path, device: str) -> list[str]:
    source = torch.randn(1000, device=device)
    result = torch.zeros(1000, device=device)
    problems = []
    with kvtrace.capture(folder / "triton", sanitize="raise"):
        kernels.copy[(3,)](source, result, 768, BLOCK=256)
        try:
            kernels.copy[(4,)](source, result, 1000, BLOCK=256)
            problems.append("a call with a defect was launched")
        except kvtrace.KernelDefect as defect:
            print(defect)
    if not torch.equal(result[:768], source[:768]) or bool(result[768:].any()):
        problems.append("the launches did not do what they should")
    return problems + in_trace(folder / "triton", {"proven", "violation"})


def compiled_launches(folder: Path) -> list[str]:
    x = torch.randn(1000, 77, device="cuda")
    with kvtrace.capture(folder / "compiled", sanitize="raise"):
        softmax = torch.compile(lambda t: torch.softmax(t * 2 + 1, dim=1))
        found = softmax(x)
    problems = in_trace(folder / "compiled", {"proven"})
    if not torch.allclose(found, torch.softmax(x * 2 + 1, dim=1), atol=1e-5):
        problems.append("torch.compile gives another result")
    return problems


def in_trace(out: Path, wanted: set[str]) -> list[str]:
    trace = open_trace(out)
    rows = trace.table("findings", columns=["rule", "verdict"]).to_pylist()
    verdicts = {row["verdict"] for row in rows if row["rule"] == "out-of-bounds"}
    codes = trace.table("messages", columns=["code", "text"]).to_pylist()
    failed = [row["text"] for row in codes if row["code"] in ("not-judged", "capture-failure")]
    problems = [f"{out.name}: {text}" for text in failed]
    if not wanted <= verdicts:
        problems.append(f"{out.name}: verdicts on bounds are {sorted(verdicts)}")
    print(f"{out.name}: {len(rows)} verdicts, on bounds {sorted(verdicts)}")
    return problems


def costs(folder: Path, device: str) -> None:
    number = 2000 if device == "cuda" else 20
    source, result = torch.zeros(768, device=device), torch.zeros(768, device=device)

    def launches() -> float:
        begin = time.perf_counter()
        for _ in range(number):
            kernels.copy[(3,)](source, result, 768, BLOCK=256)
        return (time.perf_counter() - begin) / number * 1e6

    def settled() -> None:
        launches()
        if device == "cuda":
            torch.cuda.synchronize()

    best = {"recorded": float("inf"), "judged": float("inf")}
    for _ in range(ROUNDS):
        for name, settings in (("recorded", {}), ("judged", {"sanitize": "warn"})):
            with kvtrace.capture(folder / f"cost-{name}", **settings):
                settled()
                best[name] = min(best[name], launches())
    print({name: f"{cost:.2f} µs a launch of a known call" for name, cost in best.items()})
    new = timed(lambda n: kernels.copy[(3,)](source, result, 500 + n, BLOCK=256), folder, {})
    judged = timed(
        lambda n: kernels.copy[(3,)](source, result, 500 + n, BLOCK=256), folder,
        {"sanitize": "warn"},
    )  # fmt: skip
    print(f"a new call: {new:.0f} µs recorded, {judged:.0f} µs judged and recorded")


def timed(launch: Callable[[int], Any], folder: Path, settings: dict[str, Any]) -> float:
    """Median time of a launch whose call is new, in µs; the kernel is compiled before."""
    times = []
    with kvtrace.capture(folder / "new", **settings):
        launch(0), launch(12)  # both specializations of the count
        for n in range(1, 101):
            begin = time.perf_counter()
            launch(n)
            times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2] * 1e6


if __name__ == "__main__":
    sys.exit(main())
