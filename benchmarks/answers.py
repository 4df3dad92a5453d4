"""Answers of kvtrace to the attacks of `corpus/`, with counts of those that are false.

    python benchmarks/answers.py TOPIC [--only TEXT]        answers, one row a case, and their sums
    python benchmarks/answers.py TOPIC --truth              check the truth by exhaustive evaluation

Most cases are by people who had not read the code that answers them. Exit code 1: an answer (or a
truth) is false.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus import INDEX, load
from corpus.case import Answer, Case


def check_truth(cases: Sequence[Case]) -> int:
    """Evaluate each case exhaustively; return how many contradict their label `right`."""
    contradicted = [case.name for case in cases if case.truth and case.truth() != case.right]
    evaluated = sum(case.truth is not None for case in cases)
    print(f"{evaluated} of {len(cases)} evaluated, {len(contradicted)} contradicted")
    print(*contradicted, sep="\n")
    return len(contradicted)


def table(cases: Sequence[Case]) -> int:
    """Print kvtrace's answer to each case, and totals; return how many answers are false."""
    sums: Counter[str] = Counter()
    print("| case | truth | kvtrace | s | why |", "|---|---|---|---|---|", sep="\n")
    for case in cases:
        start = time.perf_counter()
        kvtrace_answer = case.ask()
        seconds = time.perf_counter() - start
        answer, findings = (
            kvtrace_answer if isinstance(kvtrace_answer, tuple) else (kvtrace_answer, "")
        )
        truth = Answer.YES if case.right else Answer.NO
        wrong = answer not in (truth, Answer.UNKNOWN)
        sums[
            "unknown" if answer is Answer.UNKNOWN else f"false {answer}" if wrong else "right"
        ] += 1
        answer_text = f"**{answer}**" if wrong else str(answer)
        why = f"{case.why} {findings}".strip()
        print(f"| {case.name} | {truth} | {answer_text} | {seconds:.1f} | {why} |", flush=True)
    wrong_cases = sum(not case.right for case in cases)
    print(
        f"\n{len(cases)} cases, {wrong_cases} of them wrong: {sums['false yes']} false yes, "
        f"{sums['false no']} false no, {sums['unknown']} unknown "
        f"({100 * sums['unknown'] / max(len(cases), 1):.0f} %)"
    )
    return sums["false yes"] + sums["false no"]


def main() -> int:
    """Ask the cases of a topic, or check their truth; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("topic", choices=[name for name, row in INDEX.items() if row["attack"]])
    parser.add_argument("--truth", action="store_true", help="check the truth, without kvtrace")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names hold TEXT")
    options = parser.parse_args()
    cases = [case for case in load(options.topic) if options.only in case.name]
    return int((check_truth if options.truth else table)(cases) > 0)


if __name__ == "__main__":
    sys.exit(main())
