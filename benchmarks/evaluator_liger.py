"""Speed of Liger-Kernel's operators, forward and backward, in kvtrace and in the interpreter.

    python benchmarks/evaluator_liger.py [--rounds 3] [--no-interpreter] [--launches] [--json FILE]

Method: every operator of tests/kernels/liger_operators.py on its small CPU tensors, forward
and backward, once, each tool in a separate process, held to one thread. A figure is the best of
the rounds; each round is a fresh process with no cache on disk, so nothing is kept between them,
but byte code is there, as in an installed package. What the process holds before the first operator
is frozen for Python's garbage collector: else a collection walks through all objects of torch,
Triton and Liger, 100 to 350 ms that fall to whoever's turn it is.
Results are compared with torch's own operators, in both tools, within that test's tolerances.

evaluation   all calls of kvtrace.evaluate: planning, generating code, running; running alone for a
             launch that is like an earlier one in the process. Compiling kernels, which Triton
             does, and turning tensors into arguments do not count
reading      parsing the kernels' TTIR, once per kernel
interpreter  TRITON_INTERPRET=1: all that the operator takes, torch's parts included, and the
             operators at which it fails
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator import commit, inherited, processor_name, write_byte_code
from evaluator_workers import ONE_THREAD

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET_SECONDS = 0.5

Result = dict[str, Any]


class Clock:
    """Seconds of each call of wrapped functions, with the labels of the calls."""

    def __init__(self) -> None:
        self.calls: list[Result] = []

    def around(self, function: Callable[..., Any], label: Callable[..., Result]) -> Any:
        """Return `function` with its calls timed and labeled by `label(*arguments)`."""

        def timed(*given: Any, **named: Any) -> Any:
            begin, begin_processor = time.perf_counter(), time.process_time()
            try:
                return function(*given, **named)
            finally:
                wall, processor = time.perf_counter() - begin, time.process_time() - begin_processor
                self.calls.append({"wall": wall, "processor": processor, **label(*given)})

        return timed

    def total(self, clock: str, since: int = 0) -> float:
        """Return the seconds of calls from index `since` on; `clock` is "wall" or "processor"."""
        return sum(call[clock] for call in self.calls[since:])


def operators() -> Any:
    """Return the module with Liger's operators; patch Liger where it requires a GPU."""
    import torch
    from liger_kernel.ops import dyt

    from tests.kernels import liger_operators

    torch.set_num_threads(1)
    vars(dyt).update(infer_device=lambda: "npu", get_npu_core_count=lambda: 8)
    return liger_operators


def run_operator(cases: Any, name: str) -> Callable[[], None]:
    """Return a function that runs an operator once, and compares the results with torch's."""
    import torch

    operator = cases.OPERATORS[name]
    torch.manual_seed(len(name))
    inputs = operator.inputs()
    leaves = [
        i for i, x in enumerate(inputs) if x.dtype == torch.float32 and i not in operator.fixed
    ]
    upstream: list[torch.Tensor] = []
    expected, expected_gradients = cases.outcome(operator.torchs, inputs, leaves, upstream)

    def run() -> None:
        results, gradients = cases.outcome(operator.ours, inputs, leaves, upstream)
        close = {"rtol": operator.tolerance, "atol": operator.tolerance, "check_dtype": False}
        for ours, torchs in zip(
            [*results, *gradients], [*expected, *expected_gradients], strict=True
        ):
            torch.testing.assert_close(ours, torchs, **close)

    return run


def run_ours(folder: Path) -> Result:
    """Run every operator under kvtrace; return times and launches by operator."""
    import kvtrace
    from kvtrace.backends.triton import evaluating_launcher as launcher
    from kvtrace.evaluate.plan import explain

    evaluation, reading = Clock(), Clock()

    def kernel_of(module: Any, arguments: Any, grid: Any) -> Result:
        reason = explain(module, arguments, grid)
        return {"kernel": module.main.name, "grid": grid, "reason": reason}

    vars(launcher)["evaluate"] = evaluation.around(launcher.evaluate, kernel_of)
    vars(launcher)["module_from"] = reading.around(launcher.module_from, lambda *_: {})
    cases = operators()
    gc.collect()
    gc.freeze()
    figures: dict[str, Result] = {}
    with kvtrace.capture(folder / "out"):
        for name in cases.OPERATORS:
            run = run_operator(cases, name)
            calls_before, reads_before = len(evaluation.calls), len(reading.calls)
            run()
            figures[name] = {
                "evaluation": {c: evaluation.total(c, calls_before) for c in ("wall", "processor")},
                "reading": {c: reading.total(c, reads_before) for c in ("wall", "processor")},
                "launches": evaluation.calls[calls_before:],
            }
    return figures


def run_interpreter() -> Result:
    """Run every operator in Triton's interpreter; return times and failures by operator."""
    cases = operators()
    figures: dict[str, Result] = {}
    for name in cases.OPERATORS:
        run = run_operator(cases, name)
        begin, begin_processor = time.perf_counter(), time.process_time()
        failure = None
        try:
            run()
        except Exception as error:  # noqa: BLE001 - any failure of the peer is a result
            failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}"
        wall, processor = time.perf_counter() - begin, time.process_time() - begin_processor
        figures[name] = {"wall": wall, "processor": processor, "failure": failure}
    return figures


def worker(tool: str, folder: Path) -> Result:
    """Run a tool's operators in a separate process, and return its result."""
    variables = {"PYTHONPATH": os.pathsep.join((str(HERE), str(ROOT)))}
    variables |= {"XDG_CACHE_HOME": str(folder / "cache")}
    if tool == "interpreter":
        variables["TRITON_INTERPRET"] = "1"
    else:
        variables["TRITON_CACHE_DIR"] = str(folder.parent / "triton")
    answer = folder / "answer.json"
    command = [sys.executable, str(Path(__file__)), "--worker", tool, "--folder", str(folder)]
    environment = inherited() | ONE_THREAD | variables
    log = folder / "log"
    with log.open("w") as log_file:
        code = subprocess.run(
            command, env=environment, stdout=log_file, stderr=log_file, check=False
        )
    if code.returncode:
        print(log.read_text()[-2000:], file=sys.stderr)
        raise SystemExit(1)
    result: Result = json.loads(answer.read_text())
    return result


def seconds_of_all(found: Result, what: str, clock: str) -> float:
    """Return the sum of a figure over all operators, in seconds of `clock`."""
    return sum(operator[what][clock] for operator in found.values())


def print_result(rounds: list[Result], interpreter: Result | None, *, launches: bool) -> None:
    """Print a row for each operator (the best round), and the sums."""
    best = min(rounds, key=lambda found: seconds_of_all(found, "evaluation", "wall"))
    print("| operator | launches | planned | evaluation, ms | reading, ms | interpreter, ms |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, found in best.items():
        planned = sum(call["reason"] == "planned" for call in found["launches"])
        figures = [1e3 * found[part]["wall"] for part in ("evaluation", "reading")]
        interpreter_cells = "" if interpreter is None else _of_interpreter(interpreter[name])
        print(
            f"| {name} | {len(found['launches'])} | {planned} | {figures[0]:.2f} | "
            f"{figures[1]:.2f} | {interpreter_cells} |"
        )
    count = sum(len(found["launches"]) for found in best.values())
    for clock in ("wall", "processor"):
        sums = [min(seconds_of_all(found, part, clock) for found in rounds)
                for part in ("evaluation", "reading")]  # fmt: skip
        print(f"\n{clock}: {count} launches, evaluation {1e3 * sums[0]:.0f} ms, reading "
              f"{1e3 * sums[1]:.0f} ms")  # fmt: skip
    reached = min(seconds_of_all(found, "evaluation", "wall") for found in rounds) < TARGET_SECONDS
    print(f"target, evaluation under {TARGET_SECONDS} s: {'reached' if reached else 'not reached'}")
    if interpreter is not None:
        worked = [found for found in interpreter.values() if found["failure"] is None]
        print(
            f"interpreter: {sum(found['wall'] for found in interpreter.values()):.0f} s in all, "
            f"{sum(found['wall'] for found in worked):.0f} s for the {len(worked)} operators at "
            f"which it works, of {len(interpreter)}"
        )
    if launches:
        _print_launches(best)


def _of_interpreter(found: Result) -> str:
    if found["failure"] is not None:
        return "fails: " + found["failure"].replace("|", "/")
    return f"{1e3 * found['wall']:,.0f}"


def _print_launches(best: Result) -> None:
    print("\nLaunches, dearest first, processor time")
    calls = [
        (call["processor"], name, call)
        for name, operator_figures in best.items()
        for call in operator_figures["launches"]
    ]
    for processor, name, call in sorted(calls, key=lambda entry: -entry[0]):
        if processor > 2e-3 or call["reason"] != "planned":
            launch = f"{name}: {call['kernel']}{call['grid']}"
            print(f"{1e3 * processor:8.2f} ms  {launch}: {call['reason']}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-interpreter", action="store_true")
    parser.add_argument(
        "--launches", action="store_true", help="the dearest, and those not planned"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=("ours", "interpreter"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run = (
            run_interpreter if options.worker == "interpreter" else lambda: run_ours(options.folder)
        )
        (options.folder / "answer.json").write_text(json.dumps(run()))
        return
    write_byte_code()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="kvtrace-benchmark-") as name:
        folders = [Path(name) / str(number) for number in range(options.rounds + 1)]
        for folder in folders:
            folder.mkdir()
        interpreter = None if options.no_interpreter else worker("interpreter", folders[-1])
        rounds = [worker("ours", folder) for folder in folders[:-1]]
    print(f"machine: {processor_name()}, {os.cpu_count()} cores; load average {load:.1f} before, "
          f"{os.getloadavg()[0]:.1f} after")  # fmt: skip
    print(f"commit: {commit()}; one thread each; best of {options.rounds} rounds\n")
    print_result(rounds, interpreter, launches=options.launches)
    if options.json:
        result = {"rounds": rounds, "interpreter": interpreter}
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
