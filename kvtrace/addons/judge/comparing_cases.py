"""The process that compares the results of all cases, the cheapest first, within its work."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.answers import read_answers
from kvtrace.addons.judge.call_checks import (
    Log,
    dependence_on_state,
    irregular_calls,
    results_of_other_launches,
)
from kvtrace.addons.judge.calling import CallResults, read_call_results
from kvtrace.addons.judge.confining import EVENTS_FILE
from kvtrace.addons.judge.launches import read_log
from kvtrace.addons.judge.outputs import Outputs
from kvtrace.addons.judge.problems import Problem, collected_result, store_result
from kvtrace.addons.judge.request import PLAIN, UNTRIED, Folders, Request
from kvtrace.inputs.cases import Case, read_cases
from kvtrace.text import plural

_MORE: Final = "judge smaller inputs, or give more time than --seconds {:g}"
#: Cases that were not tried, named in a note, at most.
_MOST_NAMED: Final = 6


def examine_results(request: Request, folders: Folders, folder: Path) -> None:
    """Compare the results of all cases with the reference's, and write problems into `folder`.

    Given cases come first, then those of the fewest programs. Those are left out that do not fit
    into what is left of the work (`Outputs`) that a process may do, which takes less than half of
    its time.
    """
    with collected_result(folder) as result:
        cases = read_cases(folders.inputs)
        answers = read_answers(folders.answers, len(cases))
        log, _ = read_log(folders.child / EVENTS_FILE)
        answered = read_call_results(folders.answered)
        entries = [_log_of_case(number, log, answered) for number in range(len(cases))]
        logs = {case.label: case_log for case, case_log in zip(cases, entries, strict=True)}
        outputs = Outputs(request, folders, logs, result)
        outputs.report(irregular_calls(log, answered, cases))
        work = outputs.work
        outputs.report(dependence_on_state(cases[0], log, answered, folders, request.target, work))
        untried = _labels_of_untried(folders.inputs)
        for number in sorted(range(len(cases)), key=lambda one: _cost(cases[one], entries[one])):
            case, answer = cases[number], answers[number]
            if answer is None:
                continue  # it is reported with the process of answers
            if number not in answered.order and answered.whole:
                untried.append(case.label)
                continue
            with work.of_case():
                outputs.judge_case(case, entries[number], answer)
                if number in answered.results:
                    results = answered.results[number]
                    outputs.report(
                        results_of_other_launches(
                            case, entries[number], results, folders, request.target, work
                        )
                    )
            if work.is_over:
                untried.append(case.label)
            store_result(result, folder)
        outputs.judge_together()
        if answered.unrepeated and any(answered.results.values()):
            text = f"{plural(answered.unrepeated, 'repeated call')} that would take too long"
            result.problems.append(
                Problem("not-tried", "note", text, _MORE.format(request.seconds))
            )
        if untried:
            result.problems.append(_untried_problem(untried, cases, request.seconds))


def _cost(case: Case, log: Log) -> tuple[bool, int]:
    """Return the rank of a case: whether it is not a given one, and its launches' programs.

    A launch whose grid is no list of integers has none here; its evaluation says what is wrong.
    """
    grids = [entry.get("grid") for entry in log]
    programs = [
        math.prod(grid)
        for grid in grids
        if isinstance(grid, list) and all(isinstance(extent, int) for extent in grid)
    ]
    return case.kind not in PLAIN, sum(programs)


def _labels_of_untried(inputs: Path) -> list[str]:
    file = inputs / UNTRIED
    return list(map(str, json.loads(file.read_text(encoding="utf-8")))) if file.exists() else []


def _untried_problem(untried: Sequence[str], cases: Sequence[Case], seconds: float) -> Problem:
    """Return a note on cases that were not tried; unjudged if no other size was, or given ones."""
    are_given = any(case.kind in PLAIN and case.label in untried for case in cases)
    sizes = [case.label for case in cases if case.kind == "sizes"]
    tried = [label for label in sizes if label not in untried]
    names = "; ".join(untried[:_MOST_NAMED])
    more = f" and {len(untried) - _MOST_NAMED} more" if len(untried) > _MOST_NAMED else ""
    return Problem(
        "not-tried", "unjudged" if are_given or (sizes and not tried) else "note",
        f"{plural(len(untried), 'case')} of {len(cases) + len(untried)} that take too long "
        f"{'was' if len(untried) == 1 else 'were'} not tried: {names}{more}; "
        f"other sizes that were tried: {len(tried)}",
        _MORE.format(seconds),
    )  # fmt: skip


def _log_of_case(number: int, log: Mapping[int, Log], answered: CallResults) -> Log:
    """Return the log of a case's last call; of the first case's first call; () without calls.

    The candidate cannot recognize a last call. In the first call, a model may convert its weights.
    """
    calls = [call for call, case in enumerate(answered.order) if case == number]
    if not calls:
        return ()
    return log.get(calls[-1] if number else 0, ())
