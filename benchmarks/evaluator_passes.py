"""Gain by each pass of the evaluator's plan: launches with all passes, and with all but one.

    python benchmarks/evaluator_passes.py [--sets SET ...] [--passes NAME[+NAME] ...]
        [--case GLOB] [--every 1] [--files FOLDER] [--rounds 3] [--limit 60] [--each]
        [--json FILE]

Method: each case of a set (one in `--every`) runs once in a separate process, held to one thread,
under `kvtrace.capture` with no GPU. Each launch that has a plan, the first of its kind in the case,
is evaluated in rounds: with all passes and with each pass off, in turns, on the same contents of
memory, which are put back each time. `first` is the processor time of an evaluation that plans and
writes code (what Python compiled of a text is kept, as of launches of other sizes), `again` of the
next one, which has the plan. Figures are the best of the rounds, summed over the launches of a set.
A gain is the time with the pass off over the time with all on; `most` is the largest of one launch
of at least a millisecond. `other bits` counts launches that leave memory with other bits where the
pass is off. A launch that takes more than five seconds has one round.

FLA, vLLM and SGLang are looked for as `python -m tests.public` does; the set `files` are the
programs of a folder, such as TritonBench's.
"""

import argparse
import contextlib
import gc
import json
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evaluator_workers import ONE_THREAD

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SETS = ("tutorials", "liger", "fla", "vllm", "sglang", "files")
PUBLIC = ("fla", "vllm", "sglang")
SLOW_SECONDS = 5.0
LEAST_SECONDS = 1e-3
MOST_BYTES = 1 << 29

#: A pass by name: the module, the function or number that is replaced, and what it is when off.
Off = tuple[str, str, Any]
Row = dict[str, Any]


def _unchanged(instructions: Any) -> Any:
    return instructions


def _nothing(*_: Any) -> None:
    return None


def _false(*_: Any) -> bool:
    return False


PASSES: Mapping[str, Off] = {
    "longer_products": ("optimize", "with_longer_products", _unchanged),
    "hoisting": ("optimize", "_hoisted", _unchanged),
    "storing in place": ("code.blocks", "is_fused", _false),
    "operands' cells": ("code.blocks", "_reused_operand", _nothing),
    "chunks": ("planning", "CHUNK_BYTES", 1 << 60),
    "staircase": ("loops", "staircase_of", _nothing),
}


@contextlib.contextmanager
def without(names: str) -> Iterator[None]:
    """Switch passes off within the context; `names` are joined by `+`."""
    from importlib import import_module

    with contextlib.ExitStack() as stack:
        for name in filter(None, names.split("+")):
            module_name, attribute, replacement = PASSES[name]
            module = import_module(f"kvtrace.evaluate.plan.{module_name}")
            stack.callback(vars(module).__setitem__, attribute, getattr(module, attribute))
            vars(module)[attribute] = replacement
        yield


def _rotated(names: Sequence[str], number: int) -> list[str]:
    """Return names rotated by the round's number, since the first pass pays for cold caches."""
    start = -number * len(names) // 3 % len(names)
    return [*names[start:], *names[:start]]


class LaunchMeasurement:
    """Replacement of the launcher's `evaluate` that measures each launch; `rows` has results."""

    def __init__(self, passes: list[str], rounds: int) -> None:
        from kvtrace.backends.triton import evaluating_launcher

        self._evaluate = evaluating_launcher.evaluate
        self._passes = passes
        self._rounds = rounds
        self._seen: set[Any] = set()
        self._contents: dict[Any, Any] = {}
        self.rows: list[Row] = []

    def __call__(self, module: Any, arguments: Any, grid: Any, **named: Any) -> None:
        """Evaluate a launch, after measuring it if no equal launch came before."""
        from kvtrace.evaluate.plan import explain
        from kvtrace.evaluate.plan.launch import _call_key, plans_of

        key = (id(module), tuple(grid), _call_key(arguments, plans_of(module).floats))
        if key not in self._seen:
            self._seen.add(key)
            reason = explain(module, arguments, grid)
            row: Row = {"kernel": module.main.name, "grid": list(grid), "reason": reason}
            if reason.startswith("planned"):
                row |= self._measured(module, tuple(arguments), grid)
            self.rows.append(row)
        self._evaluate(module, arguments, grid, **named)

    def _measured(self, module: Any, arguments: tuple[Any, ...], grid: Any) -> Row:
        storages = {a.storage for a in arguments if hasattr(a, "storage")}
        contents = [s.data for s in storages if s.data is not None and s.data.flags.writeable]
        if sum(array.nbytes for array in contents) > MOST_BYTES:
            return {}
        saved_contents = [array.copy() for array in contents]
        figures: dict[str, Row] = {}
        with_all: list[bytes] = []
        rounds = self._rounds
        round_number = 0
        while round_number < rounds:
            for name in _rotated(("", *self._passes), round_number):
                with without(name):
                    first_seconds, again_seconds = self._timed_pair(
                        module, arguments, grid, contents, saved_contents
                    )
                figure = figures.setdefault(name, {"first": first_seconds, "again": again_seconds})
                figure["first"] = min(figure["first"], first_seconds)
                figure["again"] = min(figure["again"], again_seconds)
                if not round_number:
                    results = [array.tobytes() for array in contents]
                    with_all = with_all or results
                    figure["same"] = results == with_all
                if first_seconds > SLOW_SECONDS:
                    rounds = 1
            round_number += 1
        self._restore_contents(contents, saved_contents)
        return {"times": figures}

    def _timed_pair(
        self, module: Any, arguments: Any, grid: Any, contents: Any, before: Any
    ) -> tuple[float, float]:
        from kvtrace.evaluate.plan.launch import plans_of

        plans_of(module).forget()
        seconds = []
        for _ in range(2):
            self._restore_contents(contents, before)
            begin = time.process_time()
            self._evaluate(module, arguments, grid)
            seconds.append(time.process_time() - begin)
        plans_of(module).forget()
        return seconds[0], seconds[1]

    def _restore_contents(self, contents: Any, before: Any) -> None:
        for array, copy in zip(contents, before, strict=True):
            array[...] = copy


# -- sets ------------------------------------------------------------------------------------------


def tutorials() -> dict[str, Callable[[], object]]:
    """Return functions that run Triton's tutorials (see evaluator.py) and causal attention."""
    import torch
    from evaluator_kernels import cases, random

    from tests.kernels.attention import attention

    def launch(case: Any) -> Callable[[], None]:
        return lambda: case.launch(case.kernel, case.arguments())

    def causal(dtype: torch.dtype) -> Callable[[], None]:
        def run() -> None:
            shape = (1, 2, 1024, 64)
            q, k, v = (random(*shape, dtype=dtype, seed=seed) for seed in range(3))
            out, sums = torch.zeros_like(q), torch.zeros(2, 1024)
            strides = (2 * 1024 * 64, 1024 * 64, 64)
            attention[(16, 2)](
                q, k, v, out, sums, 0.125, 2, 1024, *strides, BM=64, BN=64, D=64, CAUSAL=True
            )  # fmt: skip

        return run

    runs: dict[str, Callable[[], object]] = {name: launch(case) for name, case in cases().items()}
    return runs | {f"causal attention {t}": causal(t) for t in (torch.float32, torch.bfloat16)}


def liger() -> dict[str, Callable[[], object]]:
    """Return functions that run Liger's operators, forward and backward, by name."""
    from evaluator_liger import operators, run_operator

    module = operators()
    return {name: run_operator(module, name) for name in module.OPERATORS}


def public(package: str) -> dict[str, Callable[[], object]]:
    """Return functions that run the cases of a public package, by name."""
    from tests.public import work

    return {name: (lambda name=name: work._run(package, name)) for name in work.cases_of(package)}


def files(folder: Path) -> dict[str, Callable[[], object]]:
    """Return functions that run the Python files of a folder, by name."""

    def run(file: Path) -> Callable[[], object]:
        def program() -> None:
            sys.path.insert(0, str(folder))
            sys.argv = [str(file)]
            runpy.run_path(str(file), run_name="__main__")

        return program

    return {file.stem: run(file) for file in sorted(folder.glob("*.py"))}


def cases_of(name: str, folder: Path | None) -> dict[str, Callable[[], object]]:
    """Return the functions of the set `name` of cases, by case."""
    if name in PUBLIC:
        return public(name)
    if name == "files":
        return files(folder) if folder is not None else {}
    return tutorials() if name == "tutorials" else liger()


# -- processes -------------------------------------------------------------------------------------


def measured_rows(name: str, chosen: argparse.Namespace, folder: Path) -> list[Row]:
    """Run each case of a set in a forked process, and return the rows of all launches."""
    cases = cases_of(name, chosen.files)
    gc.collect()
    gc.freeze()
    measured_cases: list[Row] = []
    matching = [case for case in cases if fnmatchcase(case, chosen.case)]
    for case in matching[:: chosen.every]:
        answer = folder / f"{len(measured_cases)}.json"
        pid = os.fork()
        if pid == 0:
            _in_child(name, cases[case], chosen, folder, answer)
        os.waitpid(pid, 0)
        rows = json.loads(answer.read_text()) if answer.is_file() else []
        measured_cases.append({"set": name, "case": case, "launches": rows})
        planned = sum("times" in row for row in rows)
        print(
            f"{name} {case}: {len(rows)} launches, {planned} measured", file=sys.stderr, flush=True
        )
    return measured_cases


def _in_child(
    name: str, run: Callable[[], object], chosen: argparse.Namespace, folder: Path, answer: Path
) -> None:
    """Run a case with its launches measured, write rows to `answer`, and end this process."""
    import kvtrace
    from kvtrace.backends.triton import evaluating_launcher

    measured = LaunchMeasurement(chosen.passes, chosen.rounds)
    vars(evaluating_launcher)["evaluate"] = measured

    def end(*_: object) -> None:
        answer.write_text(json.dumps(measured.rows))
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(chosen.limit)
    with (folder / "log").open("a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    settings = {"tensors": "none", "compile": "ttir"}
    if name not in ("tutorials", "liger"):  # these ask for a GPU
        settings |= {"device": "cpu", "target": "cuda:80" if name == "fla" else "cuda:90"}
    try:
        with kvtrace.capture(folder / f"out-{os.getpid()}", **settings):
            run()
    except BaseException:  # noqa: BLE001 - launches measured before the error count
        traceback.print_exc()
        sys.stderr.flush()
    end()


# -- tables ----------------------------------------------------------------------------------------


def gains(rows: list[Row], passes: list[str]) -> dict[str, dict[str, float]]:
    """Return by pass the gain in time, the largest gain, and how many launches differ in bits."""
    times = [launch["times"] for row in rows for launch in row["launches"] if "times" in launch]
    by_pass = {}
    for name in passes:
        figure_pairs = [(timing[""], timing[name]) for timing in times if name in timing]
        figures: dict[str, float] = {}
        for evaluation in ("first", "again"):
            on, off = (sum(pair[side][evaluation] for pair in figure_pairs) for side in (0, 1))
            figures[evaluation] = off / on if on else 1.0
            ratios = [
                off[evaluation] / on[evaluation]
                for on, off in figure_pairs
                if off[evaluation] >= LEAST_SECONDS
            ]
            figures[f"most {evaluation}"] = max(ratios, default=1.0)
        figures["other bits"] = sum(not off["same"] for _, off in figure_pairs)
        by_pass[name] = figures
    return by_pass


def print_tables(rows: list[Row], passes: list[str], *, each: bool) -> None:
    """Print a table for each set."""
    for name in SETS:
        mine = [row for row in rows if row["set"] == name]
        launches = [launch for row in mine for launch in row["launches"]]
        times = [launch["times"][""] for launch in launches if "times" in launch]
        if not times:
            continue
        first, again = (
            1e3 * sum(each[evaluation] for each in times) for evaluation in ("first", "again")
        )
        print(f"\n{name}: {len(mine)} cases, {len(launches)} launches, {len(times)} measured, "
              f"first {first:.0f} ms, again {again:.0f} ms\n")  # fmt: skip
        print("| pass | first | again | most, first | most, again | other bits |")
        print("|---|---:|---:|---:|---:|---:|")
        for pass_name, figures in gains(mine, passes).items():
            print(f"| {pass_name} | {figures['first']:.2f} | {figures['again']:.2f} | "
                  f"{figures['most first']:.2f} | {figures['most again']:.2f} | "
                  f"{figures['other bits']:.0f} |")  # fmt: skip
        if each:
            _print_each(mine, passes)


def _print_each(rows: list[Row], passes: list[str]) -> None:
    """Print the launches whose time a pass changes by a fifth or more."""
    for row in rows:
        for launch in row["launches"]:
            on = launch.get("times", {}).get("")
            for name in passes if on else ():
                off = launch["times"][name]
                first_ratio, again_ratio = off["first"] / on["first"], off["again"] / on["again"]
                if max(first_ratio, again_ratio) > 1.2 and off["first"] > LEAST_SECONDS:
                    print(f"{name}: {row['case']}: {launch['kernel']}{launch['grid']} "
                          f"{1e3 * on['first']:.1f} / {1e3 * on['again']:.1f} ms, without "
                          f"{first_ratio:.2f} / {again_ratio:.2f}")  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument(
        "--passes", nargs="+", default=list(PASSES), help="names; several at once are joined by +"
    )
    parser.add_argument("--case", default="*", metavar="GLOB")
    parser.add_argument("--every", type=int, default=1, help="one case in so many")
    parser.add_argument("--files", type=Path, help="a folder of programs, the set `files`")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=60, help="seconds a case may take")
    parser.add_argument("--each", action="store_true", help="launches with a gain of a fifth, too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        path = [str(HERE), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(path)}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name in options.sets:
            case_folder = Path(folder) / name
            case_folder.mkdir()
            rows += measured_rows(name, options, case_folder)
            if options.json:
                options.json.write_text(json.dumps(rows))
    print_tables(rows, options.passes, each=options.each)


if __name__ == "__main__":
    main()
