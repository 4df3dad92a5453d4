"""How well the rest of a pass is predicted after some seconds: predicted and taken, trace by trace.

    python benchmarks/remaining_time.py [--seconds 5] [TRACE …]

Tracer, profiler and sanitizer run over copies of the stored traces of a GPU, the calls with the
smallest estimated cost first, as `kvtrace report` does. After some seconds the whole time is
predicted as `RemainingTime` does, and compared with the time that was taken in the end. Both are
processor time of this process, so that other work on the machine does not count. `within 2` is the
share of the predictions, after each call from the first second on, whose rest is at most twice or
half of the actual one (half a second is added to both). Shorter passes are left out of the table.
"""

import argparse
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

TRACES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "h200"
DEFAULT = ("inductor", "llama", "llama_graphs", "llama_ranks", "llama_steady", "llama_liger")


def predicted_and_taken(trace: Path, seconds: float) -> tuple[int, float, float, float] | None:
    """Return calls, prediction, share of predictions within 2, and time of a trace's first run.

    None if the passes take less than `seconds`, after which they are predicted.
    """
    from kvtrace.analysis.judging import environment_rules, sanitizer
    from kvtrace.clients.recorded import InTime, estimated_costs, replay
    from kvtrace.progress import RemainingTime
    from kvtrace.schema.trace import select_runs
    from kvtrace.verdicts.rules.choice import rule_ids

    selection = select_runs(trace)
    run = selection.runs[0]
    costs = estimated_costs(selection.trace, run)
    clients = ["tracer", "profiler", sanitizer(rule_ids([environment_rules()]))]
    predictions: list[tuple[float, float]] = []
    began = time.process_time()
    remaining = RemainingTime(time.process_time)

    def predict(done: float, total: float) -> None:
        remaining.add(done)
        passed, rest = time.process_time() - began, remaining.seconds(total)
        if rest is not None and done < total:
            predictions.append((passed, rest))

    in_time = InTime(tuple(costs), float("inf"), costs)
    outcome = replay(selection.trace, run, predict, clients, in_time)
    taken = time.process_time() - began
    late = [passed + rest for passed, rest in predictions if passed >= seconds]
    if not late:
        return None
    ratios = [(rest + 0.5) / (taken - passed + 0.5) for passed, rest in predictions]
    within = sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios)
    return outcome.calls, late[0], within, taken


def main() -> None:
    """Print a table with a row for each trace."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {sys.version.split()[0]}, {platform.platform()}")
    print(f"{'trace':<16}  calls  predicted  within 2  taken  predicted/taken")
    for trace in arguments.traces or [TRACES / name for name in DEFAULT]:
        with tempfile.TemporaryDirectory() as folder:
            derived = shutil.ignore_patterns("part-[a-z]*")
            copy = Path(shutil.copytree(trace, Path(folder) / "out", ignore=derived))
            figures = predicted_and_taken(copy, arguments.seconds)
        if figures is not None:
            calls, predicted, within, taken = figures
            print(
                f"{trace.name:<16}  {calls:>5}  {predicted:>7.1f} s  {within:>8.0%}  "
                f"{taken:>5.1f}  {predicted / taken:>15.2f}"
            )


if __name__ == "__main__":
    main()
