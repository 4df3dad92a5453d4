"""To be run by hand on a machine with an NVIDIA GPU: exports of suites in their own tools.

    python tests/gpu/check_suite_exports.py SUITE [--kernelbench CLONE] [--tritonbench CLONE]
                                            [--only WORD] [--without-times]

Exports a suite to each format, and loads and runs the exports with the tools themselves:
flashinfer-bench and datasets, if they can be imported; KernelBench and TritonBench from clones of
their repositories (TritonBench's gets links in tritonbench/operators, which are removed again).
Prints times beside the recorded ones. Without a GPU it runs with KVTRACE=out KVTRACE_DEVICE=cpu and
--without-times. `--only` chooses kernels by a word in their name.

Packages, without their dependencies: flashinfer-bench, safetensors, apache-tvm-ffi,
docstring-parser; datasets, huggingface-hub, dill, xxhash, multiprocess, pandas, tqdm, filelock;
tabulate, psutil, einops; python-dotenv, requests.
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def export(suite: Path, name: str, output: Path) -> Path:
    """Export a suite by the command, and return the folder."""
    command = [sys.executable, "-m", "kvtrace", "suite", "export", str(suite), "--to", name]
    subprocess.run([*command, "-o", str(output)], check=True)
    return output


def recorded_times(suite: Path) -> dict[str, float]:
    """Return the recorded medians of entries, in ms."""
    entries = json.loads((suite / "suite.json").read_text())["entries"]
    return {e["name"]: e["median_ns"] / 1e6 for e in entries if e["median_ns"]}


def check_flashinfer_bench(options: argparse.Namespace, folder: Path) -> list[str]:
    """Load a trace set with flashinfer-bench, and evaluate the recorded kernels as solutions."""
    from flashinfer_bench.bench import BenchmarkConfig
    from flashinfer_bench.bench.evaluators.default import DefaultEvaluator
    from flashinfer_bench.compile import BuilderRegistry
    from flashinfer_bench.data import TraceSet

    traces = TraceSet.from_path(str(export(options.suite, "flashinfer-bench", folder)))
    print(f"  {len(traces.definitions)} definitions, {sum(map(len, traces.workloads.values()))} "
          "workloads are valid")  # fmt: skip
    config = BenchmarkConfig(warmup_runs=2, iterations=10, num_trials=1, profile_baseline=False)
    failures = []
    for name, definition in traces.definitions.items():
        if options.only not in name:
            continue
        solution = BuilderRegistry.get_instance().build(definition, traces.solutions[name][0])
        for each in traces.workloads[name]:
            base = DefaultEvaluator.build_baseline(
                definition, each.workload, config, "cuda:0", folder
            )
            shared = (config, os.devnull, "cuda:0")
            correctness, failure = DefaultEvaluator.check_correctness(
                definition, solution, base.inputs, base.outputs, *shared
            )
            took = ""
            if failure is None and options.times:
                performance, failure = DefaultEvaluator.eval_performance(
                    definition, solution, base.inputs, 1.0, *shared
                )
                took = f", {performance.latency_ms:.4f} ms with copies" if performance else ""
            print(f"  {name}: {'evaluated' if failure is None else failure.status}{took}")
            if failure is not None:
                failures.append(f"flashinfer-bench: {name}: {failure.status}, {correctness}")
    return failures


def check_dataset(options: argparse.Namespace, folder: Path) -> list[str]:
    """Load a data set with datasets."""
    os.environ |= {"HF_HOME": str(folder.parent / "cache"), "HF_HUB_OFFLINE": "1"}
    from datasets import load_dataset

    rows = load_dataset(str(export(options.suite, "dataset", folder)))["train"]
    print(f"  {len(rows)} rows with {len(rows.features)} columns")
    total = len(json.loads((options.suite / "suite.json").read_text())["entries"])
    return [] if len(rows) == total else [f"dataset: {len(rows)} rows of {total} entries"]


def check_kernelbench(options: argparse.Namespace, folder: Path) -> list[str]:
    """Evaluate each problem's model against itself with KernelBench's runner."""
    for name in ("openai", "litellm"):  # it imports what asks language models; nothing asks here
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(OpenAI=None, completion=None)
    sys.path.insert(0, str(options.kernelbench / "src"))
    dataset = importlib.import_module("kernelbench.dataset")
    evaluation = importlib.import_module("kernelbench.eval")
    export(options.suite, "kernelbench", folder)
    failures = []
    for problem in dataset.LocalKernelBenchDataset(5, base_path=str(folder)):
        if options.only not in problem.name:
            continue
        result = evaluation.eval_kernel_against_ref(
            problem.code,
            problem.code.replace("class Model(", "class ModelNew("),
            device=torch.device("cuda:0"),
            backend="triton",
            measure_performance=options.times,
        )
        is_right = result is not None and result.compiled and result.correctness
        took = f", {result.runtime:.4f} ms with copies" if is_right and options.times else ""
        print(f"  {problem.name}: {'correct' if is_right else result}{took}")
        if not is_right:
            failures.append(f"kernelbench: {problem.name}: {result}")
    return failures


def check_tritonbench(options: argparse.Namespace, folder: Path) -> list[str]:
    """Run each operator with TritonBench's harness."""
    export(options.suite, "tritonbench", folder)
    recorded, failures = recorded_times(options.suite), []
    operators = options.tritonbench / "tritonbench" / "operators"
    sys.path.insert(0, str(options.tritonbench))
    for operator in sorted(path for path in folder.iterdir() if path.is_dir()):
        if options.only not in operator.name:
            continue
        link = operators / operator.name
        link.symlink_to(operator)
        try:
            table = _tritonbench_times(operator.name)
        except Exception:
            failures.append(f"tritonbench: {operator.name}: {traceback.format_exc()}")
            continue
        finally:
            link.unlink()
        for call, took in table:
            print(f"  {call}: {took} ms, recorded {recorded.get(call, float('nan')):.4f} ms")
    return failures


def _tritonbench_times(name: str) -> list[tuple[str, Any]]:
    """Return the calls of an operator, with their times in ms."""
    loader = importlib.import_module("tritonbench.operators")
    parser = importlib.import_module("tritonbench.utils.parser")
    words = ["--op", name, "--metrics", "latency"]
    arguments, others = parser.get_parser(words).parse_known_args(words)
    operator = loader.load_opbench_by_name(name)(arguments, others)
    operator.run()
    return [(call, metrics["recorded"].latency) for call, metrics in operator.output.result]


def main() -> int:
    """Run what is there, and return 1 if something failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", type=Path)
    parser.add_argument("--kernelbench", type=Path)
    parser.add_argument("--tritonbench", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-times", dest="times", action="store_false")
    options = parser.parse_args()
    checks: dict[str, Callable[[argparse.Namespace, Path], list[str]]] = {
        "flashinfer-bench": check_flashinfer_bench,
        "dataset": check_dataset,
        "kernelbench": check_kernelbench,
        "tritonbench": check_tritonbench,
    }
    is_there = {
        "flashinfer-bench": importlib.util.find_spec("flashinfer_bench"),
        "dataset": importlib.util.find_spec("datasets"),
        "kernelbench": options.kernelbench,
        "tritonbench": options.tritonbench,
    }
    failures = []
    with tempfile.TemporaryDirectory() as made:
        for name, check in checks.items():
            print(f"{name}:{'' if is_there[name] else ' not here'}")
            if is_there[name]:
                failures += check(options, Path(made, name))
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures or not any(is_there.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
