"""Verdicts on a candidate's cases, by evaluating their launches on values chosen by the judge.

For the verdict "right", the recorded launches must give the reference's results also for values
drawn after the candidate had ended. If they are right only for the values that the candidate's
process had, Python computed a part of the results, not the kernels. For example, a candidate that
computes a norm in Python and passes it as a scalar is right for the recorded values alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from kvtrace.addons.judge.answers import Answer, FreshCase
from kvtrace.addons.judge.call_checks import Log
from kvtrace.addons.judge.deriving import WORK_OF_A_SECOND, TooMuchWork, Work
from kvtrace.addons.judge.host_data import (
    difference_between_runs,
    places_are_loaded,
    places_from_host,
)
from kvtrace.addons.judge.launches import Memory, launch_entries, memory_steps, run_launches
from kvtrace.addons.judge.outcomes import (
    STRAY_WRITE,
    Defect,
    Outcome,
    Values,
    has_ascending_integers,
    has_equal_reference,
    has_moved_result,
    is_reference_result,
    outcome_of,
)
from kvtrace.addons.judge.problems import BEYOND_GIVEN, ExaminerResult, Problem, beyond_given
from kvtrace.addons.judge.request import Folders, Request
from kvtrace.addons.judge.ties import differs_where_reference_does, picks_tied_elements
from kvtrace.evaluate.narrow import narrow_sums, uses_tf32
from kvtrace.inputs.cases import BEYOND, EPSILON, Case
from kvtrace.inputs.making import OTHER_INTEGERS, OTHER_VALUES, must_be_accepted
from kvtrace.inputs.values import BOTH_SIGNS, OUTSIDE, SPECIAL, TYING, WIDE
from kvtrace.ir import Module, Op, source_stack

#: Sort key of problems, the plainest first: the kind of case, and the share of wrong elements.
Rank = tuple[int, float]
#: The work after which no further awkward values are tried.
_AWKWARD_WORK: Final = 120_000_000
#: The work of an evaluation after which no more bounds are derived for a case.
_LONG_WORK: Final = 20_000_000
#: The work of all evaluations with bounds, after which no more are derived.
_DERIVING_WORK: Final = 300_000_000
#: The kind of problems that awkward values of the given inputs show.
AWKWARD_VALUES: Final = "awkward"
#: Kinds of cases, the plainest first.
_PLAIN: Final = ("given", "values", "sizes", AWKWARD_VALUES, "view", BEYOND)
_DECIDING: Final = ("error", "unjudged")


class Outputs:
    """Comparison of all cases' results with the reference's.

    Args:
        request: The judgment's request.
        folders: The folders of the other processes.
        logs: The log of each case, by the case's label.
        result: Receives the problems and records of cases.
    """

    def __init__(
        self, request: Request, folders: Folders, logs: Mapping[str, Log], result: ExaminerResult
    ) -> None:
        self._request = request
        self._folders = folders
        self._logs = logs
        self._result = result
        #: Sort key and index of the reported problem, by rule and place.
        self._reported: dict[tuple[str, str | None, int | None], tuple[Rank, int]] = {}
        self._given_log: Log = ()
        self._modules: dict[str, Module] = {}
        self._has_failed = False
        self._narrow_ops: list[Op] = []
        self._has_tf32 = False
        self.work = Work(request.seconds * WORK_OF_A_SECOND)
        self._awkward_work = 0.0
        #: Labels of cases whose launches take so long that no bounds are derived for them.
        self._long_cases: set[str] = set()
        self._deriving_work = 0.0

    def report(self, problems: Iterable[Problem]) -> None:
        """Report problems of calls; of each rule, the first one is enough."""
        for problem in problems:
            self._add_problem(
                problem.rule, problem.severity, problem.message, problem.hint, case=problem.case
            )

    def judge_case(self, case: Case, entries: Log, answer: Answer) -> None:
        """Judge one case, or raise TooMuchWork; beyond the given inputs, report one problem."""
        if case.kind != BEYOND:
            self._judge_case(case, entries, answer)
            return
        earlier_problems = [*self._result.problems]
        reported, has_failed = self._reported, self._has_failed
        self._reported, self._has_failed = {}, False
        try:
            self._judge_case(case, entries, answer)
        finally:
            deciding_problems = [
                problem
                for problem in self._result.problems[len(earlier_problems) :]
                if problem.severity in _DECIDING
            ]
            self._result.problems[:] = earlier_problems
            self._reported, self._has_failed = reported, has_failed
        if deciding_problems and all(problem.rule != BEYOND_GIVEN for problem in earlier_problems):
            self._result.problems.append(beyond_given(deciding_problems[0], case.label))

    def _judge_case(self, case: Case, entries: Log, answer: Answer) -> None:
        record: dict[str, Any] = {"case": case.label, "kind": case.kind, "launches": 0}
        self._result.cases.append(record)
        launches = list(launch_entries(entries))
        record["launches"] = len(launches)
        raised = next((str(entry["raised"]) for entry in entries if "raised" in entry), None)
        if raised is not None:
            self._report_raised(case, raised, record)
            return
        if not any("returned" in entry for entry in entries):
            text = "the log lacks the candidate's results"
            self._add_problem("cannot-judge", "unjudged", text, case=case.label)
            return
        unplaced = next((entry["unplaced"] for entry in entries if "unplaced" in entry), None)
        if unplaced:
            names = ", ".join(map(str, unplaced[:5]))
            self._add_problem(
                "cannot-judge", "unjudged",
                f"the candidate has no parameters for weights of the reference: {names}",
                "give its parameters the names and shapes of the reference's", case=case.label,
            )  # fmt: skip
            return
        is_empty = not must_be_accepted(case) and any(0 in tensor.shape for tensor in case.tensors)
        if not launches and not is_empty and not self._needs_no_launch(case, entries, answer):
            self._add_problem(
                "not-launched", "error", "no kernel is launched, so no kernel computes the results",
                "launch the kernel for all sizes, or raise an error", case=case.label,
            )  # fmt: skip
        self._given_log = self._given_log or entries
        given_values = Values(case, self._folders.inputs, answer.expected, self._folders.answers)
        fresh = None if self._has_failed or not launches else answer
        fresh_defects: list[Defect] = []
        if fresh is not None and self._is_right_on_fresh(
            given_values, entries, fresh, record, fresh_defects
        ):
            return
        outcome = self._evaluate_on(given_values, entries)
        record["results"] = [asdict(comparison) for comparison in outcome.comparisons]
        if outcome.memory.reason is not None:
            self._add_problem("cannot-judge", "unjudged", outcome.memory.reason, case=case.label)
        for defect in outcome.defects:
            if launches or is_empty or defect.rule == "input-modified":
                self._add_defect(defect, case)
        # PyTorch may compute gradients.
        if fresh is not None and outcome.is_right and not case.cotangents:
            self._report_host_results(given_values, outcome.memory, fresh, fresh_defects)

    def judge_together(self) -> None:
        """Report sums in 16 bits of all cases, and sort all problems."""
        ranks = {index: rank for rank, index in self._reported.values()}
        problems = enumerate(self._result.problems)
        ordered = sorted(problems, key=lambda numbered: ranks.get(numbered[0], (0, 0.0)))
        self._result.problems[:] = [problem for _, problem in ordered]
        self._reported = {}
        for op in self._narrow_ops:
            self._add_problem(
                "narrow-sum", "warning",
                "a sum over many elements is kept in 16 bits, and loses more with each addition",
                "accumulate in float32, and cast once at the end", op=op,
            )  # fmt: skip

    def _needs_no_launch(self, case: Case, entries: Log, answer: Answer) -> bool:
        """Return whether results are right for all values without a launch, as of no parts."""
        if case.kind == "given" or memory_steps(entries):
            return False
        fresh_cases = [self._values_of_fresh(f) for f in answer.fresh if not f.awkward]
        return bool(fresh_cases) and all(
            self._evaluate_on(values, entries).is_right for values in fresh_cases
        )

    def _report_raised(self, case: Case, error: str, record: dict[str, Any]) -> None:
        record["refused"] = error
        is_error = must_be_accepted(case)
        self._add_problem(
            "raises", "error" if is_error else "note",
            f"the candidate {'fails on' if is_error else 'refuses'} {case.label}: {error}",
            "" if is_error else "let the candidate accept such inputs if it should",
            case=case.label,
        )  # fmt: skip

    def _may_derive(self, case: Case) -> bool:
        """Return whether work is left to derive bounds; without them the problem's grant counts."""
        is_little = self._deriving_work < _DERIVING_WORK
        return is_little and case.label not in self._long_cases

    def _evaluate_on(self, values: Values, entries: Log) -> Outcome:
        begun = self.work.done
        memory = run_launches(
            values.case, memory_steps(entries), values.inputs, self._folders.child,
            self._request.target, self.work,
            derived=self._may_derive(values.case),
        )  # fmt: skip
        if self.work.is_over:
            raise TooMuchWork
        work = self.work.done - begun
        self._deriving_work += work if memory.derived is not None else 0.0
        if work > _LONG_WORK:
            self._long_cases.add(values.case.label)
        self._modules |= memory.modules
        for module in memory.modules.values():
            self._has_tf32 = self._has_tf32 or uses_tf32(module)
            for op in narrow_sums(module):
                if all(
                    source_stack(op) != source_stack(earlier_op) for earlier_op in self._narrow_ops
                ):
                    self._narrow_ops.append(op)
        return outcome_of(
            memory, values, entries, self._folders.child, tf32=self._has_tf32,
            narrow=bool(self._narrow_ops),
        )  # fmt: skip

    def _is_right_on_fresh(
        self, given_values: Values, entries: Log, answer: Answer, record: dict[str, Any],
        defects: list[Defect],
    ) -> bool:  # fmt: skip
        """Return whether the launches are right for values that the candidate never had.

        If so, the comparisons are stored in `record` and awkward values are tried; else `defects`
        gets the defects.
        """
        has_failed = False
        for fresh in answer.fresh:
            if fresh.awkward:
                continue
            values = self._values_of_fresh(fresh)
            outcome = self._evaluate_on(values, entries)
            if not outcome.is_right:
                has_failed = True
                defects[:] = outcome.defects
                continue
            if has_failed and not self._host_decides_places_only(answer, given_values.case):
                return False
            record["results"] = [asdict(comparison) for comparison in outcome.comparisons]
            for defect in outcome.defects:
                self._add_defect(defect, given_values.case)
            if has_moved_result(values, outcome.memory):
                self._add_problem(
                    "computed-on-host", "error",
                    "PyTorch moves the inputs' elements into the order of the result",
                    "let a kernel read the inputs in their given order",
                    case=given_values.case.label,
                )  # fmt: skip
            self._report_awkward(given_values, entries, answer, host_decides_places=has_failed)
            return True
        return False

    def _values_of_fresh(self, fresh: FreshCase) -> Values:
        folder = self._folders.answers
        return Values(fresh.case, folder, fresh.expected, folder)

    def _report_awkward(
        self, given_values: Values, entries: Log, answer: Answer, *, host_decides_places: bool
    ) -> None:
        """Evaluate the launches on awkward values, and report results that are wrong for them.

        `host_decides_places`: the host computes from integers where kernels read and write.
        """
        begun = self.work.done - self._awkward_work
        untried = [*answer.untried]
        for fresh in answer.fresh:
            if not fresh.awkward:
                continue
            is_beyond = fresh.awkward == OUTSIDE or (
                fresh.awkward in WIDE and self._may_be_positions(fresh, host_decides_places)
            )
            if is_beyond and not any(map(places_are_loaded, self._modules.values())):
                continue
            if self.work.done > begun + _AWKWARD_WORK:
                untried.append(fresh.awkward)
                continue
            outcome = self._evaluate_on(self._values_of_fresh(fresh), entries)
            if is_beyond:
                self._report_stray_write(fresh, outcome, answer)
            if is_beyond or outcome.is_right:
                continue
            errors = [defect for defect in outcome.defects if defect.severity == "error"]
            if outcome.memory.reason is not None:
                self._add_problem(
                    "cannot-judge", "unjudged", outcome.memory.reason, case=given_values.case.label
                )
            elif (
                fresh.awkward == SPECIAL
                or (
                    fresh.awkward in TYING
                    and picks_tied_elements(self._values_of_fresh(fresh), outcome)
                )
                or differs_where_reference_does(self._values_of_fresh(fresh), outcome)
            ):
                text = f"for {fresh.awkward} inputs the results differ from the reference's"
                self._add_problem("awkward-values", "note", text, case=given_values.case.label)
            elif self._host_difference() == "":
                if fresh.awkward == BOTH_SIGNS:
                    self._report_beyond_given(errors, fresh.awkward)
                    continue
                for error in errors:
                    defect = replace(error, message=f"for {fresh.awkward} inputs, {error.message}")
                    self._add_defect(defect, given_values.case, AWKWARD_VALUES)
            else:
                self._report_host_computed(given_values.case.label)
        self._awkward_work = self.work.done - begun
        if untried:
            kinds = ", ".join(dict.fromkeys(untried))
            text = f"inputs were not tried with {kinds} values, since they are large"
            self._add_problem(
                "not-tried", "note", text, "judge smaller inputs", case=given_values.case.label
            )

    def _report_beyond_given(self, errors: Sequence[Defect], kind: str) -> None:
        """Report errors for values that the given ones may exclude, as negative numbers."""
        for error in errors:
            problem = beyond_given(Problem(error.rule, "error", error.message), kind)
            self._add_problem(
                problem.rule, problem.severity, problem.message, error.hint, case=problem.case,
                op=error.op,
            )  # fmt: skip

    def _report_stray_write(self, fresh: FreshCase, outcome: Outcome, answer: Answer) -> None:
        """Report a write outside of a tensor for values that the reference ignores.

        Its results keep their shapes. Large integers are ignored if results are those for negative
        ones; lengths, which a reference may cut, are not. Integers that ascend may bound parts.
        """
        stray = next((d for d in outcome.defects if d.rule == STRAY_WRITE), None)
        if stray is None or any(defect.rule == "result-shape" for defect in outcome.defects):
            return
        values = self._values_of_fresh(fresh)
        negative = (self._values_of_fresh(f) for f in answer.fresh if f.awkward == WIDE[1])
        if (fresh.awkward in WIDE and has_ascending_integers(values)) or (
            fresh.awkward == WIDE[0]
            and not any(has_equal_reference(values, other) for other in negative)
        ):
            return
        self._report_beyond_given([stray], fresh.awkward)

    def _may_be_positions(self, fresh: FreshCase, host_decides_places: bool) -> bool:
        """Return whether a case's integers may be positions, lengths or labels for floats.

        So if the host decides addresses, or loaded values do. If a case has no floats, its integers
        are no positions: the reference refuses wrong ones.
        """
        tensors = (*fresh.expected.native, *(asdict(tensor) for tensor in fresh.case.tensors))
        if all(str(tensor["dtype"]) not in EPSILON for tensor in tensors):
            return False
        return host_decides_places or any(map(places_are_loaded, self._modules.values()))

    def _host_decides_places_only(self, answer: Answer, case: Case) -> bool:
        """Return whether values that the host computed from integers only decide addresses.

        Then a warning is reported. False if a result is not of floats, since an integer computed by
        the host could be the result itself.
        """
        if any(str(result["dtype"]) not in EPSILON for result in answer.expected.native):
            return False
        floats = {number for number, tensor in enumerate(case.tensors) if tensor.dtype in EPSILON}
        host = places_from_host(
            self._given_log, self._logs.get(OTHER_INTEGERS, ()), self._modules, floats
        )
        if host:
            self._add_problem(
                "host-indices", "warning",
                f"Python or PyTorch computed {host[0].description} from integers in the inputs; "
                "addresses, masks or trip counts of kernels depend on that",
                "read the integers in a kernel", case=case.label,
            )  # fmt: skip
        return host is not None

    def _report_host_results(
        self, given_values: Values, memory: Memory, answer: Answer, fresh_defects: Sequence[Defect]
    ) -> None:
        """Report why the launches are right only for the values that the candidate had."""
        label = given_values.case.label
        if all(fresh.awkward for fresh in answer.fresh):
            if given_values.case.tensors:
                text = "the reference accepts no other values for these inputs"
                self._add_problem("cannot-judge", "unjudged", text, case=label)
            return
        for (_, name), contents in memory.unexplained.items():
            if is_reference_result(contents, given_values):
                self._add_problem(
                    "computed-on-host", "error",
                    f"the argument {name} already contains the result before a kernel is launched",
                    "compute the result in a kernel", case=label,
                )  # fmt: skip
                return
        if any(e.severity == "error" for e in fresh_defects) and self._host_difference() == "":
            # The host made the same for all values, so kernels are wrong for some of them.
            for defect in fresh_defects:
                self._add_defect(defect, given_values.case)
            return
        self._report_host_computed(label)

    def _host_difference(self) -> str | None:
        """Return a phrase on the first difference of the host's values in runs on other values.

        "" if the host's values are the same in these runs; None if there is no such run.
        """
        logs = [self._logs[name] for name in (OTHER_VALUES, OTHER_INTEGERS) if name in self._logs]
        return difference_between_runs(self._given_log, logs)

    def _report_host_computed(self, label: str) -> None:
        """Report that Python or PyTorch computed a part of a case's results."""
        description = self._host_difference()
        detail = f": see {description}" if description else ""
        self._add_problem(
            "host-computed", "warning" if self._request.trust_host else "unjudged",
            "the launches give right results only for the values that the candidate had, so "
            f"Python or PyTorch computed a part of the results{detail}",
            "compute that part in a kernel, or judge with --trust-host, which trusts what PyTorch "
            "computes in the candidate's process", case=label,
        )  # fmt: skip

    def _add_defect(self, defect: Defect, case: Case, kind: str = "") -> None:
        self._has_failed |= defect.severity == "error"
        rank = _PLAIN.index(kind or case.kind), -defect.share
        self._add_problem(
            defect.rule, defect.severity, defect.message, defect.hint, case=case.label,
            op=defect.op, rank=rank,
        )  # fmt: skip

    def _add_problem(
        self, rule: str, severity: str, message: str, hint: str = "", *, case: str | None = None,
        op: Op | None = None, rank: Rank = (0, 0.0),
    ) -> None:  # fmt: skip
        frames = source_stack(op) if op is not None else ()
        frame = frames[0] if frames else None
        key = (rule, frame.file if frame else None, frame.line if frame else None)
        earlier = self._reported.get(key) if severity != "note" else None
        if earlier is not None and earlier[0] <= rank:
            return  # the plainest case is enough
        problem = Problem(
            rule, severity, message, hint, case,
            frame.function if frame else None,
            frame.file if frame else None,
            frame.line if frame else None,
            frame.column if frame else None,
        )  # fmt: skip
        problems = self._result.problems
        if earlier is not None:
            problems[earlier[1]] = problem
        self._reported[key] = rank, len(problems) if earlier is None else earlier[1]
        if earlier is None:
            problems.append(problem)
