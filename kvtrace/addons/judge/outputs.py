"""What a candidate's cases give: launches evaluated on chosen values, then judged.

The rule of a right verdict: the recorded launches, evaluated on values that were drawn after the
candidate had ended, give what the reference gives for these. What is right only for the values that
the candidate's process had was computed by its host, and not by its kernels.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.answers import Answer, Fresh, read_answers
from kvtrace.addons.judge.calling import Answered, Result, array_of, read_answered
from kvtrace.addons.judge.comparing import EPSILON, unlike
from kvtrace.addons.judge.confining import EVENTS_FILE
from kvtrace.addons.judge.fresh import SPECIAL, TYING, WIDE
from kvtrace.addons.judge.host_data import differing, made_of, places_are_loaded
from kvtrace.addons.judge.inputs import BEYOND, Case, read_cases
from kvtrace.addons.judge.launches import Memory, heard_in, launches_in, run_launches, steps_in
from kvtrace.addons.judge.making import OTHER_INTEGERS, OTHER_VALUES, REFUSABLE
from kvtrace.addons.judge.outcomes import (
    Outcome,
    Values,
    Wrong,
    input_values,
    other_index,
    outcome_of,
    result_of,
    solved_by,
)
from kvtrace.addons.judge.problems import (
    BEYOND_GIVEN,
    Examined,
    Problem,
    beyond_given,
    examined_in,
)
from kvtrace.addons.judge.request import Folders, Request
from kvtrace.addons.judge.state import depends_on_state
from kvtrace.addons.judge.tensors import array
from kvtrace.evaluate.narrow import narrow_sums, uses_tf32
from kvtrace.ir import Module, Op, source_stack
from kvtrace.verdicts.sizes.envelope import GRID_LIMITS

Log = Sequence[Mapping[str, Any]]
#: How plain a problem is, the plainest first: the kind of case, and the share of wrong elements.
Rank = tuple[int, float]
#: Seconds of processor time after which no further awkward values are tried.
_AWKWARD_SECONDS: Final = 3.0
#: Awkward values of the given inputs, among the kinds of cases.
AWKWARD_VALUES: Final = "awkward"
#: Kinds of cases: the plainest first.
_PLAIN: Final = ("given", "values", "sizes", AWKWARD_VALUES, "view", BEYOND)
_DECIDING: Final = ("error", "unjudged")
#: Programs along the second and the third axis of a grid, at most, on CUDA devices.
_MOST: Final = GRID_LIMITS[-1]


def examine_results(request: Request, folders: Folders, folder: Path) -> None:
    """Compare what launches give with the reference's results; what is found is in `folder`."""
    with examined_in(folder) as found:
        cases, answers = read_cases(folders.inputs), read_answers(folders.answers)
        log, _ = heard_in(folders.child / EVENTS_FILE)
        answered = read_answered(folders.answered)
        entries = [_told(number, log, answered) for number in range(len(cases))]
        logs = {case.label: each for case, each in zip(cases, entries, strict=True)}
        outputs = Outputs(request, folders, logs, found)
        outputs.calls(log, answered, cases)
        outputs.state(cases[0], log, answered)
        for number, case in enumerate(cases):
            outputs.case(case, entries[number], answers[number] if answers else None)
            if number in answered.results:
                outputs.returned(case, entries[number], answered.results[number])
        outputs.whole()


class Outputs:
    """Compares the results of cases, and gathers what is found.

    Args:
        request: What is judged.
        folders: Where everything is.
        logs: What the candidate's process said of each case, by its label.
        found: Where findings are put.

    """

    def __init__(
        self, request: Request, folders: Folders, logs: Mapping[str, Log], found: Examined
    ) -> None:
        self._request = request
        self._folders = folders
        self._logs = logs
        self._found = found
        #: Reported rules and places: how plain each problem is, and its index among the problems.
        self._told: dict[tuple[str, str | None, int | None], tuple[Rank, int]] = {}
        self._by_kind: dict[str, tuple[Values, Outcome]] = {}
        self._first: Log = ()
        self._modules: dict[str, Module] = {}
        self._failed = False
        self._narrow: list[Op] = []
        self._tf32 = False

    def calls(
        self, log: Mapping[int, Log], answered: Answered, cases: Sequence[Case]
    ) -> None:  # fmt: skip
        """Report calls that are unlike others of the same inputs, and what they returned."""
        if answered.malformed:
            text = f"what the candidate's process answers was tampered with: {answered.malformed}"
            self._add("cannot-judge", "unjudged", text)
        elif not answered.whole:
            text = "the candidate's process ended before all calls were answered"
            self._add("cannot-judge", "unjudged", text)
        for text in answered.odd:
            self._add("result-kind", "error", text, "return torch.Tensor, as kernels write it")
        for rule, text in answered.unlike:
            if rule == "call":
                self._add(
                    "nondeterministic", "error",
                    f"the same inputs give other results in another call: {text}",
                    "let results depend on nothing but the inputs",
                )  # fmt: skip
            else:
                self._add(
                    "result-changed", "error", f"a result changes after it was returned: {text}",
                    "return a new tensor from each call, and leave it alone",
                )  # fmt: skip
        if answered.running:
            self._add(
                "result-changed", "unjudged",
                "a thread or a timer of the candidate runs on after its last call, or it keeps "
                "what it returned: it may change results later",
                "let none run on when the function returns, and keep no result",
            )  # fmt: skip
        for name in answered.drew:
            text = f"the candidate draws random numbers ({name}): another call may do otherwise"
            self._add("nondeterministic", "unjudged", text, "draw none, or hand over a seed")
        first = {number: answered.order.index(number) for number in set(answered.order)}
        for call, number in enumerate(answered.order):
            known = {each["ttir"] for each in launches_in(log.get(first[number], ()))}
            found = [each["ttir"] for each in launches_in(log.get(call, ()))]
            if known and (not found or not known.issuperset(found)):
                what = "another kernel" if found else "no kernel"
                self._add(
                    "nondeterministic", "error",
                    f"call {call + 1} launches {what} for the same inputs: {cases[number].label}",
                    "launch the same kernels for the same inputs",
                )  # fmt: skip

    def state(self, case: Case, log: Mapping[int, Log], answered: Answered) -> None:
        """Report results of the first case that depend on memory left by earlier calls."""
        calls = [call for call, number in enumerate(answered.order) if number == 0]
        ends = [log.get(call, ()) for call in (calls[0], calls[-1])] if calls else []
        folders = self._folders
        if ends and depends_on_state(
            case, ends, folders.inputs, folders.child, self._request.target
        ):
            self._add(
                "state", "unjudged",
                "kernels read what earlier calls have left in memory, and results follow from it: "
                "after more calls they may be others",
                "keep nothing between calls, or reset it in each call", case=case.label,
            )  # fmt: skip

    def returned(self, case: Case, entries: Log, results: Sequence[Result]) -> None:
        """Report results whose bytes are not what the recorded launches leave."""
        told = next((e["returned"] for e in entries if "returned" in e), None)
        if told is None:
            return
        memory = run_launches(
            case, steps_in(entries), self._folders.inputs, self._folders.child,
            self._request.target,
        )  # fmt: skip
        if memory.reason is not None:
            self._add("cannot-judge", "unjudged", memory.reason, case=case.label)
            return
        views = told or [
            {**asdict(each), "storage": number}
            for number, each in enumerate(case.inputs_of_tensors)
        ]
        got = [result_of(each, memory, self._folders.child) for each in views]
        bytes_ = [array_of(each, self._folders.answered) for each in results]
        for at, (one, two) in enumerate(zip(got, bytes_, strict=False)):
            text = f"result {at} is not what the recorded launches leave"
            if one.shape == two.shape and one.dtype == two.dtype:
                count = unlike(one, two)
                if not count:
                    continue
                text += f": {count:,} of {one.size:,} elements differ"
            self._add(
                "returned-otherwise", "error", text,
                "return what the kernels write; the file must not change what records it",
                case=case.label,
            )  # fmt: skip
        if len(got) != len(bytes_):
            text = f"{len(bytes_)} results were returned, and the log has {len(got)}"
            self._add("returned-otherwise", "error", text, case=case.label)

    def case(self, case: Case, entries: Log, answer: Answer | None) -> None:
        """Judge one case; of what the given inputs do not ask for, no verdict is possible."""
        if case.kind != BEYOND:
            self._case(case, entries, answer)
            return
        before, told, failed = [*self._found.problems], self._told, self._failed
        self._told, self._failed = {}, False
        self._case(case, entries, answer)
        found = [e for e in self._found.problems[len(before) :] if e.severity in _DECIDING]
        self._found.problems[:] = before
        self._told, self._failed = told, failed
        if found and all(each.rule != BEYOND_GIVEN for each in before):
            self._found.problems.append(beyond_given(found[0], case.label))

    def _case(self, case: Case, entries: Log, answer: Answer | None) -> None:
        record: dict[str, Any] = {"case": case.label, "kind": case.kind, "launches": 0}
        self._found.cases.append(record)
        launches = list(launches_in(entries))
        record["launches"] = len(launches)
        raised = next((str(e["raised"]) for e in entries if "raised" in e), None)
        if raised is not None:
            self._raised(case, raised, record)
            return
        if not any("returned" in e for e in entries):
            text = "the log does not tell what the candidate returned"
            self._add("cannot-judge", "unjudged", text, case=case.label)
            return
        unplaced = next((e["unplaced"] for e in entries if "unplaced" in e), None)
        if unplaced:
            names = ", ".join(map(str, unplaced[:5]))
            self._add(
                "cannot-judge", "unjudged",
                f"the candidate has no place for weights of the reference: {names}",
                "give its parameters the names and shapes of the reference's", case=case.label,
            )  # fmt: skip
            return
        empty = not _is_asked(case) and any(0 in each.shape for each in case.tensors)
        if not launches and not empty:
            self._add(
                "not-launched", "error", "no kernel is launched: the results are not a kernel's",
                "launch the kernel for all sizes, or raise an error", case=case.label,
            )  # fmt: skip
        if self._grids(launches, case) and not _is_asked(case):
            record["refused"] = "a grid is too large"
            return
        self._first = self._first or entries
        want = None if answer is None else answer.expected
        given = Values(case, self._folders.inputs, want, self._folders.answers)
        fresh = None if self._failed or not launches else answer
        wrong: list[Wrong] = []
        if fresh is not None and self._right_on_others(given, entries, fresh, record, wrong):
            return
        outcome = self._outcome(given, entries)
        record["results"] = [asdict(each) for each in outcome.told]
        if want is None:
            del record["results"]
        self._by_kind.setdefault(case.kind, (given, outcome))
        if outcome.memory.reason is not None:
            self._add("cannot-judge", "unjudged", outcome.memory.reason, case=case.label)
        for each in outcome.wrong:
            if launches or empty or each.rule == "input-modified":
                self._add_wrong(each, case)
        if fresh is not None and outcome.right and not case.cotangents:  # PyTorch may do those
            self._made_for_values(given, outcome.memory, fresh, wrong)

    def _grids(self, launches: Log, case: Case) -> bool:
        """Report grids too large for any device, where a launch fails; return if there are any."""
        if not self._request.target.startswith("cuda"):
            return False
        grids = [(each["launch"], [int(n) for n in each["grid"]]) for each in launches]
        too_large = [(name, grid) for name, grid in grids if max(grid[1:], default=0) > _MOST]
        for name, grid in too_large:
            self._add(
                "grid-too-large", "error" if _is_asked(case) else "note",
                f"{name} is launched on a grid of {grid}, and devices take at most {_MOST:,} "
                "programs along its second and third axis",
                "put the longest axis first", case=case.label,
            )  # fmt: skip
        return bool(too_large)

    def whole(self) -> None:
        """Judge what several cases show together."""
        if {"given", "values"} <= self._by_kind.keys():
            given, values = self._by_kind["given"], self._by_kind["values"]
            self._constant(given, values)
            if given[0].want is None and given[1].right and values[1].right:
                self._consistent(given, values)
        ranks = {at: rank for rank, at in self._told.values()}
        problems = enumerate(self._found.problems)
        ordered = sorted(problems, key=lambda each: ranks.get(each[0], (0, 0.0)))
        self._found.problems[:] = [problem for _, problem in ordered]
        self._told = {}
        for op in self._narrow:
            self._add(
                "narrow-sum", "warning",
                "a sum over many elements is kept in 16 bits, and loses more with each addition",
                "accumulate in float32, and cast once at the end", op=op,
            )  # fmt: skip

    def _raised(self, case: Case, what: str, record: dict[str, Any]) -> None:
        record["refused"] = what
        asked = _is_asked(case)
        self._add(
            "raises", "error" if asked else "note",
            f"the candidate {'fails on' if asked else 'refuses'} {case.label}: {what}",
            "" if asked else "if it should take such inputs, let it", case=case.label,
        )  # fmt: skip

    def _outcome(self, values: Values, entries: Log) -> Outcome:
        memory = run_launches(
            values.case, steps_in(entries), values.inputs, self._folders.child,
            self._request.target, derived=values.want is not None,
        )  # fmt: skip
        self._modules |= memory.modules
        for module in memory.modules.values():
            self._tf32 = self._tf32 or uses_tf32(module)
            for op in narrow_sums(module):
                if all(source_stack(op) != source_stack(known) for known in self._narrow):
                    self._narrow.append(op)
        return outcome_of(
            memory, values, entries, self._folders.child, tf32=self._tf32,
            narrow=bool(self._narrow),
        )  # fmt: skip

    def _right_on_others(
        self, given: Values, entries: Log, answer: Answer, record: dict[str, Any],
        wrong: list[Wrong],
    ) -> bool:  # fmt: skip
        """Whether the launches give the right results on values that the candidate never had.

        What is wrong with them is added to `wrong`.
        """
        tried = False
        for fresh in answer.fresh:
            if fresh.awkward:
                continue
            values = self._values(fresh)
            outcome = self._outcome(values, entries)
            if not outcome.right:
                tried = True
                wrong[:] = outcome.wrong
                continue
            if tried and not self._only_placed(answer, given.case):
                return False
            record["results"] = [asdict(each) for each in outcome.told]
            for each in outcome.wrong:
                self._add_wrong(each, given.case)
            self._moved_only(values, outcome.memory)
            self._right_on_awkward(given, entries, answer, placed=tried)
            return True
        return False

    def _values(self, fresh: Fresh) -> Values:
        folder = self._folders.answers
        return Values(fresh.case, folder, fresh.expected, folder)

    def _right_on_awkward(
        self, given: Values, entries: Log, answer: Answer, *, placed: bool
    ) -> None:
        """Report what launches give otherwise than the reference on awkward values.

        `placed`: the host made of integers where kernels go.
        """
        begun = time.process_time()
        untried = [*answer.untried]
        for fresh in answer.fresh:
            if not fresh.awkward or (fresh.awkward == WIDE and self._are_places(fresh, placed)):
                continue
            if time.process_time() > begun + _AWKWARD_SECONDS:
                untried.append(fresh.awkward)
                continue
            outcome = self._outcome(self._values(fresh), entries)
            if outcome.right:
                continue
            wrong = [each for each in outcome.wrong if each.severity == "error"]
            integers = all(
                e["dtype"] != "bool" and e["dtype"] not in EPSILON for e in fresh.expected.own
            )
            if outcome.memory.reason is not None:
                self._add("cannot-judge", "unjudged", outcome.memory.reason, case=given.case.label)
            elif fresh.awkward == SPECIAL or (
                integers and fresh.awkward in TYING and other_index(self._values(fresh), outcome)
            ):
                text = f"for {fresh.awkward} inputs the results are not the reference's"
                self._add("awkward-values", "note", text, case=given.case.label)
            elif self._host_made() == "":
                for each in wrong:
                    told = replace(each, message=f"for {fresh.awkward} inputs, {each.message}")
                    self._add_wrong(told, given.case, AWKWARD_VALUES)
            else:
                self._host_computed(given.case.label)
        if untried:
            text = f"not tried, as inputs are large: {', '.join(dict.fromkeys(untried))} values"
            self._add("not-tried", "note", text, "judge smaller inputs", case=given.case.label)

    def _are_places(self, fresh: Fresh, placed: bool) -> bool:
        """Whether integers beside floats may say where kernels go: lengths, offsets, labels.

        Beside integers alone, the reference has refused those that are positions.
        """
        tensors = (*fresh.expected.own, *(asdict(each) for each in fresh.case.tensors))
        if all(str(each["dtype"]) not in EPSILON for each in tensors):
            return False
        return placed or any(map(places_are_loaded, self._modules.values()))

    def _only_placed(self, answer: Answer, case: Case) -> bool:
        """Whether what the host made of integers says where kernels go, and not what they store.

        That is so for floats alone: an integer that the host has made can be a result.
        """
        other = self._logs.get(OTHER_INTEGERS, ())
        if any(str(each["dtype"]) not in EPSILON for each in answer.expected.own):
            return False
        if any("raised" in each for each in other):
            return False
        steps = steps_in(self._first)
        host = list(differing(steps, steps_in(other))) if other else []
        returned, told = _returned(self._first), _returned(other)
        if other and [each.get("content") for each in returned] != [e.get("content") for e in told]:
            return False
        floats = {number for number, each in enumerate(case.tensors) if each.dtype in EPSILON}
        tainted = made_of(host, steps, self._modules, floats)
        numbers = {int(each["storage"]) for each in returned if "storage" in each}
        if tainted & numbers or (tainted and not returned):
            return False
        if host:
            self._add(
                "host-indices", "warning",
                f"{host[0].told}: made by Python or PyTorch of integers in the inputs: where "
                "kernels read and write, or how far they go, depends on it",
                "read the integers in a kernel", case=case.label,
            )  # fmt: skip
        return True

    def _moved_only(self, values: Values, memory: Memory) -> None:
        """Report a result whose elements PyTorch has moved to their places for a kernel."""
        case = values.case
        if case.kind not in ("given", "values"):
            return
        inputs = [input_values(case, number, values.inputs) for number in range(len(case.tensors))]
        for moved, written in memory.moved:
            if written is not None and not _is_one_of(written, inputs):
                continue  # a kernel made it
            if not _is_one_of(moved, inputs) and solved_by(moved, values):
                self._add(
                    "computed-on-host", "error",
                    "PyTorch moves the elements of inputs to where they are in the result",
                    "let a kernel read them where they were", case=case.label,
                )  # fmt: skip

    def _made_for_values(
        self, given: Values, memory: Memory, answer: Answer, wrong: Sequence[Wrong]
    ) -> None:
        """Report results that are right for nothing but the values that the candidate had."""
        label = given.case.label
        if all(each.awkward for each in answer.fresh):
            if given.case.tensors:
                text = "the reference takes no other values of these inputs than the given ones"
                self._add("cannot-judge", "unjudged", text, case=label)
            return
        for (_, name), contents in memory.made.items():
            if solved_by(contents, given):
                self._add(
                    "computed-on-host", "error",
                    f"the argument {name} holds the result before a kernel is launched",
                    "compute the result in a kernel", case=label,
                )  # fmt: skip
                return
        if any(e.severity == "error" for e in wrong) and self._host_made() == "":
            for each in wrong:  # the host gave the same for all values: kernels are wrong for some
                self._add_wrong(each, given.case)
            return
        self._host_computed(label)

    def _host_made(self) -> str | None:
        """Return what the host made otherwise for other values; empty: nothing, None: not known."""
        made: str | None = None
        for name in (OTHER_VALUES, OTHER_INTEGERS):
            log = self._logs.get(name)
            if log is None or any("raised" in entry for entry in log):
                continue
            found = next(differing(steps_in(self._first), steps_in(log)), None)
            made = made or ("" if found is None else found.told)
            for at, (one, other) in enumerate(
                zip(_returned(self._first), _returned(log), strict=False)
            ):
                if (one.get("content"), one.get("value")) != (
                    other.get("content"),
                    other.get("value"),
                ):
                    made = made or f"result {at}"
        return made

    def _host_computed(self, label: str) -> None:
        """Report that Python or PyTorch computed, and what, as far as two runs show it."""
        made = self._host_made()
        what = f": see {made}" if made else ""
        self._add(
            "host-computed", "warning" if self._request.trust_host else "unjudged",
            "the launches give the right results for no other values than those that the "
            f"candidate had: a part was computed by Python or PyTorch{what}",
            "compute it in a kernel, or judge with --trust-host, which believes the candidate's "
            "process for what PyTorch computes in it", case=label,
        )  # fmt: skip

    def _constant(
        self, first: tuple[Values, Outcome], second: tuple[Values, Outcome]
    ) -> None:  # fmt: skip
        """Report results that are the same whatever the inputs hold."""
        results, others = first[1].results, second[1].results
        if not results or len(results) != len(others):
            return
        same = all(
            np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
            for one, other in zip(results, others, strict=True)
        )
        if same and not _same_expected(first[0], second[0]):
            self._add(
                "constant-result", "error", "the results are the same whatever the inputs hold",
                "compute them from the inputs",
            )  # fmt: skip

    def _consistent(
        self, first: tuple[Values, Outcome], second: tuple[Values, Outcome]
    ) -> None:  # fmt: skip
        """Without a reference, compare launches with those of a run on other values."""
        values, other = second
        again = self._outcome(values, self._first)
        pairs = zip(again.results, other.results, strict=False)
        if not all(
            one.shape == two.shape and np.allclose(one, two, 1e-3, 1e-3, equal_nan=True)
            for one, two in pairs
        ):
            self._host_computed(first[0].case.label)

    def _add_wrong(self, each: Wrong, case: Case, kind: str = "") -> None:
        self._failed |= each.severity == "error"
        rank = _PLAIN.index(kind or case.kind), -each.share
        self._add(
            each.rule, each.severity, each.message, each.hint, case=case.label, op=each.op,
            rank=rank,
        )  # fmt: skip

    def _add(
        self, rule: str, severity: str, message: str, hint: str = "", *, case: str | None = None,
        op: Op | None = None, rank: Rank = (0, 0.0),
    ) -> None:  # fmt: skip
        frames = source_stack(op) if op is not None else ()
        place = frames[0] if frames else None
        key = (rule, place.file if place else None, place.line if place else None)
        known = self._told.get(key) if severity != "note" else None
        if known is not None and known[0] <= rank:
            return  # one case shows it, the plainest
        problem = Problem(
            rule, severity, message, hint, case,
            place.function if place else None,
            place.file if place else None,
            place.line if place else None,
            place.column if place else None,
        )  # fmt: skip
        problems = self._found.problems
        if known is not None:
            problems[known[1]] = problem
        self._told[key] = rank, len(problems) if known is None else known[1]
        if known is None:
            problems.append(problem)


def _told(number: int, log: Mapping[int, Log], answered: Answered) -> Log:
    """Return what was logged of a case: of its last call, which the candidate cannot know to be it.

    Of the first case it is the first call: a model may prepare its weights there, once.
    """
    calls = [call for call, each in enumerate(answered.order) if each == number]
    if not calls:
        return ()
    return log.get(calls[-1] if number else 0, ())


def _is_asked(case: Case) -> bool:
    """Whether a case was asked for, so that the candidate must not refuse it."""
    return case.kind in ("given", "values") and case.label not in REFUSABLE


def _is_one_of(values: NDArray[Any], inputs: Sequence[NDArray[Any]]) -> bool:
    """Whether elements are those of an input, in its order."""
    return any(np.array_equal(values.ravel(), each.ravel()) for each in inputs)


def _returned(entries: Log) -> list[Mapping[str, Any]]:
    return [each for entry in entries for each in entry.get("returned", ())]


def _same_expected(first: Values, second: Values) -> bool:
    """Whether the reference, too, gives the same for both; False where there is none."""
    if first.want is None or second.want is None:
        return False
    pairs = zip(first.want.own, second.want.own, strict=False)
    arrays = ((array(first.answers, one), array(second.answers, two)) for one, two in pairs)
    return all(one.tobytes() == two.tobytes() for one, two in arrays)
