"""Speed of evaluating kernels without a GPU: kvtrace, Triton's interpreter, Triton-Viz, torch.

    python benchmarks/evaluator.py [--rounds 3] [--slow-rounds 1] [--only TEXT] [--json FILE]

Method: one run on one machine. Each tool is a separate process, held to one thread, that keeps
still until it is asked; the kernels are measured in rounds, and within a round every tool has
its turn at a kernel before the next kernel comes. A figure is the best round. The interpreter and
the clients of Triton-Viz launch the whole grid once a round, after a launch of one program that is
not timed; one that took over five seconds has only as many rounds as `--slow-rounds` says. What is
quick is launched for half a second, and its round is the median. Every result is compared with
torch's operator in float64 on the same inputs.

interpreter     TRITON_INTERPRET=1, Triton 3.6, no other tool imported
tracer, ...     the clients of Triton-Viz; the profiler over all programs, which computes no result
                (its defaults look at one program, and skip loads and stores); the sanitizer without
                what it kept of earlier launches of the same kernel
plain           kvtrace.evaluate with real data, the launch evaluated before
observed        the same by our tracer and profiler in one pass, with all rows of `ops`, `loops` and
                `accesses`, of IR that was parsed before and never evaluated
judged          our sanitizer: all rows of `findings` of the launch, by the default rules. It judges
                by formulas and runs nothing. The kernel's symbolic summary is kept, as it is made
                once a kernel; all that depends on the launch is made again
observed again  observed, with what the evaluator keeps between launches of a kernel
cold            observed, as the first launch of a process that has imported torch, NumPy and the
                kernels: importing all that is needed of kvtrace, reading the text of the IR
no data         observed again, contents of tensors unknown: what replaying a recorded call takes
torch           torch's own operator on the CPU

The peers run in a separate environment, .venv-peers, made by the first run.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evaluator_kernels import cases
from evaluator_workers import ONE_THREAD

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ROOT / ".venv-peers"
PEER_PACKAGES = ("torch==2.13.0", "triton==3.6.0", "triton-viz==3.0", "numpy<2.4")
PEER_TOOLS = ("interpreter", "tracer", "profiler", "sanitizer")
OURS = ("torch", "plain", "observed", "judged", "observed again", "no data")
SECONDS = 0.5
SLOW = 5.0
OURS_WARM = ("plain", "observed", "judged", "observed again")
COLUMNS = (*PEER_TOOLS, *OURS_WARM, "cold", "no data", "torch")

Figures = dict[str, dict[str, dict[str, Any]]]


class Worker:
    """A process that answers requests, see evaluator_workers.py."""

    def __init__(
        self, python: Path, module: str, argument: str, variables: dict[str, str], log: Path
    ) -> None:
        self.log = log
        with log.open("w") as log_file:
            self.process = subprocess.Popen(
                # -P: else the kvtrace of the current folder would be measured for each checkout.
                [str(python), "-P", "-c", f"import {module}; {module}.run()", argument],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_file,
                text=True,
                env=inherited() | ONE_THREAD | variables,
            )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer_line = self.process.stdout.readline()
        except BrokenPipeError:
            answer_line = ""
        if answer_line:
            answer: dict[str, Any] = json.loads(answer_line)
            return answer
        self.process.wait()
        last_log_line = self.log.read_text().strip().splitlines()[-1:]
        return {
            "failed": last_log_line[0] if last_log_line else f"exit code {self.process.returncode}"
        }

    def end(self) -> None:
        """Close the process's input, upon which it ends, and wait for it."""
        assert self.process.stdin is not None
        if self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait()


def inherited() -> dict[str, str]:
    """Return the environment variables without those that change how the tools work."""
    settings = ("KVTRACE", "TRITON", "PROFILER", "SANITIZER", "ENABLE_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(settings)}


def make_peer_environment() -> Path:
    """Create the environment .venv-peers unless it exists; return the path of its Python."""
    python = PEERS / "bin" / "python"
    expected = "\n".join(PEER_PACKAGES)
    completion_mark = PEERS / ".made"
    if completion_mark.exists() and completion_mark.read_text() == expected:
        return python
    print(f"making {PEERS.name} with {', '.join(PEER_PACKAGES)}", flush=True)
    venv.create(PEERS, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", *PEER_PACKAGES]
    if subprocess.run(pip, check=False).returncode != 0:
        print("the peers could not be installed", file=sys.stderr)
        raise SystemExit(2)
    completion_mark.write_text(expected)
    return python


def write_byte_code(checkouts: Iterable[Path] = (ROOT,)) -> None:
    """Compile kvtrace's files to byte code, as an installation does."""
    names = ("kvtrace", "schema", "converters", "benchmarks")
    folders = [str(checkout / name) for checkout in checkouts for name in names]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)


class Benchmark:
    """The worker processes, and the best times measured so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.peer_python = make_peer_environment()
        write_byte_code()
        self.peers = {tool: self.peer(tool) for tool in PEER_TOOLS}
        self.ours = self.our_worker("evaluator_ours", "ours")
        self.figures: Figures = {}

    def peer(self, tool: str) -> Worker:
        """Start a peer's worker; its profiler looks at every program, and for no AMD GPU."""
        variables = {
            "PROFILER_ENABLE_BLOCK_SAMPLING": "0",
            "PROFILER_DISABLE_BUFFER_LOAD_CHECK": "1",
            "PYTHONPATH": str(HERE),
        }
        if tool == "interpreter":
            variables["TRITON_INTERPRET"] = "1"
        log = self.folder / f"{tool}.log"
        return Worker(self.peer_python, "evaluator_peers", tool, variables, log)

    def our_worker(self, module: str, name: str) -> Worker:
        """Start a worker of kvtrace that runs `module`, with its log under `name`."""
        variables = {"PYTHONPATH": os.pathsep.join((str(HERE), str(ROOT)))}
        log = self.folder / f"{name}.log"
        return Worker(Path(sys.executable), module, str(self.folder), variables, log)

    def measure(self, case: str, number: int, slow_rounds: int) -> None:
        """Measure one round of one kernel with every tool, and store best times."""
        best = self.figures.setdefault(case, {})
        for tool in PEER_TOOLS:
            best_so_far = best.get(tool, {})
            failed = "failed" in best_so_far
            if failed or (number >= slow_rounds and best_so_far.get("wall", 0) > SLOW):
                continue
            answer = self.peers[tool].ask(case=case)
            if "failed" in answer:
                self.peers[tool].end()
                self.peers[tool] = self.peer(tool)
            keep(best, tool, answer)
        for figure in OURS:
            keep(best, figure, self.ours.ask(what=figure, case=case, budget=SECONDS))
        self.measure_cold(case, number)

    def measure_cold(self, case: str, number: int) -> None:
        """Measure the first launch of a kernel in a new process."""
        worker = self.our_worker("evaluator_cold", f"cold {number} {case}".replace("/", " "))
        answer = worker.ask(case=case)
        worker.end()
        keep(self.figures[case], "cold", answer)

    def end(self) -> None:
        """End every process."""
        for worker in (*self.peers.values(), self.ours):
            worker.end()


def keep(best: dict[str, dict[str, Any]], name: str, answer: dict[str, Any]) -> None:
    """Store in `best[name]` the smallest wall and processor times of all rounds so far."""
    if "failed" in answer or "failed" in best.get(name, {"failed": ""}):
        best[name] = answer
        return
    best_so_far = best[name]
    for clock in ("wall", "processor"):
        best_so_far[clock] = min(best_so_far[clock], answer[clock])


def option_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of benchmarks that have several workers."""
    options = argparse.ArgumentParser(description=description.splitlines()[0])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default="", help="cases whose name contains this text")
    options.add_argument("--json", type=Path)
    return options


def compile_cases(worker: Worker) -> None:
    """Let a worker of kvtrace compile all kernels; exit with its error if that fails."""
    compiled = worker.ask(what="compile")
    if "failed" in compiled:
        print(compiled["failed"], file=sys.stderr)
        raise SystemExit(1)


class Run:
    """Start time and machine load of a benchmark; `facts` adds machine and commit at the end."""

    def __init__(self) -> None:
        self._began, self._load = time.time(), os.getloadavg()

    def facts(self, versions: dict[str, Any], rounds: int) -> dict[str, Any]:
        """Return a result's machine, versions, commit, load, rounds and duration."""
        return {
            "machine": f"{processor_name()}, {os.cpu_count()} cores, {platform.platform()}",
            "versions": versions,
            "commit": commit(),
            "load average": {"before": self._load, "after": os.getloadavg()},
            "rounds": rounds,
            "seconds in all": time.time() - self._began,
        }


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__)
    parser.add_argument("--slow-rounds", type=int, default=1)
    options = parser.parse_args()
    run = Run()
    with tempfile.TemporaryDirectory(prefix="kvtrace-benchmark-") as name:
        benchmark = Benchmark(Path(name))
        compile_cases(benchmark.ours)
        expected = [case for case in cases() if options.only in case]
        for round_number in range(options.rounds):
            for case in expected:
                print(f"round {round_number + 1} of {options.rounds}: {case}", file=sys.stderr)
                benchmark.measure(case, round_number, options.slow_rounds)
        versions = {
            "kvtrace and torch's operators": benchmark.ours.ask(what="versions"),
            "peers": benchmark.peers["interpreter"].ask(versions=True),
        }
        benchmark.end()
    result = {
        **run.facts(versions, options.rounds),
        "slow rounds": options.slow_rounds,
        "cases": benchmark.figures,
        "tolerances": {name: case.tolerance for name, case in cases().items()},
        "counted": [name for name, case in cases().items() if case.counted],
    }
    print_result(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def processor_name() -> str:
    """Return the processor's name from /proc/cpuinfo, or else from Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """Return the measured commit's hash, marked if the package has other changes."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--", "kvtrace"], capture_output=True, text=True
    )
    return (head.stdout.strip() or "unknown") + (" with changes" if changed.stdout.strip() else "")


def print_facts(result: dict[str, Any]) -> None:
    """Print the machine, versions and commit of a result."""
    load = result["load average"]
    print(f"machine: {result['machine']}")
    for where, packages in result["versions"].items():
        print(f"{where}: {', '.join(f'{name} {number}' for name, number in packages.items())}")
    print(f"commit: {result['commit']}; one thread each; best of {result['rounds']} rounds")
    print(f"load average before {load['before'][0]:.1f}, after {load['after'][0]:.1f}")
    print(f"the whole run took {result['seconds in all']:.0f} s")


def print_result(result: dict[str, Any]) -> None:
    """Print all tables of a result in Markdown, for RESULTS.md."""
    figures, accepted = result["cases"], result["tolerances"]
    print_facts(result)
    print(f"launches over {SLOW:.0f} s: best of {result['slow rounds']}")
    for clock in ("wall", "processor"):
        print_times(figures, accepted, clock)
    for clock in ("wall", "processor"):
        print_ratios(figures, result["counted"], clock)
    print_targets({case: figures[case] for case in figures if case in result["counted"]})


def print_times(figures: Figures, accepted: dict[str, float], clock: str) -> None:
    """Print milliseconds; a star marks a wrong result."""
    print(f"\nMilliseconds of {'the wall clock' if clock == 'wall' else 'processor time'}\n")
    print("| kernel | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    for case, answers in figures.items():
        cells = [milliseconds(answers[name], clock, accepted[case]) for name in COLUMNS]
        print(f"| {case} | " + " | ".join(cells) + " |")
    wrong = [
        f"{name} at {case}: off by {answer['error']:.1e} of the largest value"
        for case, answers in figures.items()
        for name, answer in answers.items()
        if is_wrong(answer, accepted[case])
    ]
    failed = [
        f"{name} at {case}: {answer['failed']}"
        for case, answers in figures.items()
        for name, answer in answers.items()
        if "failed" in answer
    ]
    if clock == "wall":
        print("\n" + ("\n".join(f"* wrong result, {text}" for text in wrong) or "all results hold"))
        print("".join(f"- failed, {text}\n" for text in failed), end="")


def is_wrong(answer: dict[str, Any], tolerance: float) -> bool:
    """Return whether the answer has a result that differs from torch's, or is not a number."""
    error = answer.get("error")
    return error is not None and not error <= tolerance


def milliseconds(answer: dict[str, Any], clock: str, tolerance: float) -> str:
    """Return a time in ms as text, with a star if the result is wrong."""
    if "failed" in answer:
        return "failed"
    value = answer[clock] * 1e3
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}" + ("*" if is_wrong(answer, tolerance) else "")


#: Label, what is slower, what is quicker.
RATIOS = (
    ("interpreter / plain", "interpreter", "plain"),
    ("interpreter / observed", "interpreter", "observed"),
    ("interpreter / cold", "interpreter", "cold"),
    ("tracer / observed", "tracer", "observed"),
    ("profiler / observed", "profiler", "observed"),
    ("sanitizer / judged", "sanitizer", "judged"),
    ("plain / torch", "plain", "torch"),
)


def ratios(figures: Figures, slow: str, quick: str, clock: str) -> dict[str, float]:
    """Return slow/quick time by case, for cases in which both tools were measured."""
    return {
        case: answers[slow][clock] / answers[quick][clock]
        for case, answers in figures.items()
        if clock in answers[slow] and clock in answers[quick]
    }


def geometric_mean(values: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def print_ratios(figures: Figures, counted: list[str], clock: str) -> None:
    """Print ratios for each kernel, and geometric means over the `counted` kernels."""
    print(f"\nRatios of {'the wall clock' if clock == 'wall' else 'processor time'}\n")
    print("| kernel | " + " | ".join(label for label, _, _ in RATIOS) + " |")
    print("|---|" + "---:|" * len(RATIOS))
    columns = [ratios(figures, slow, quick, clock) for _, slow, quick in RATIOS]
    for case in figures:
        cells = [number(column.get(case, math.nan)) for column in columns]
        print(f"| {case} | " + " | ".join(cells) + " |")
    for label, kind in (("geometric mean, fp32", "fp32"), ("geometric mean, all", "")):
        means = [
            geometric_mean([v for case, v in c.items() if kind in case and case in counted])
            for c in columns
        ]
        print(f"| **{label}** | " + " | ".join(map(number, means)) + " |")


def number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_targets(figures: Figures) -> None:
    """Print each target, the measured value, and whether the target is reached."""
    print("\n| target (wall clock) | fp32 | all | reached |")
    print("|---|---:|---:|---|")
    observed = ratios(figures, "interpreter", "observed", "wall")
    cold = {case: 1e3 * tools["cold"]["wall"] for case, tools in figures.items()}
    steady = ratios(figures, "plain", "torch", "wall")
    rows = (
        ("interpreter / observed, geometric mean at least 500", observed, geometric_mean, 500, 1),
        ("interpreter / observed, every kernel at least 180", observed, min, 180, 1),
        ("cold in milliseconds, all counted, every kernel at most 120", cold, max, 120, -1),
        ("plain / torch, every kernel at most 1.5", steady, max, 1.5, -1),
    )
    for label, case_ratios, summary, target, sign in rows:
        narrow = [reached_value for case, reached_value in case_ratios.items() if "fp32" in case]
        wide = list(case_ratios.values())
        values = [summary(selected) if selected else math.nan for selected in (narrow, wide)]
        reached = [reached_value * sign >= target * sign for reached_value in values]
        verdict = "yes" if all(reached) else "fp32 only" if reached[0] else "no"
        print(f"| {label} | {number(values[0])} | {number(values[1])} | {verdict} |")


if __name__ == "__main__":
    main()
