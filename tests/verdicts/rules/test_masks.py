"""Masks that are the same everywhere."""

import math
from collections import Counter, defaultdict
from itertools import islice

import pytest

from kvtrace.evaluate import Observer
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import run
from tests.support.defects import CORPUS
from tests.support.thorough import usually
from tests.verdicts import definedness_kernels as kernels
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.mutants import mutants

RULES = ("mask-always-false", "mask-always-true")


def guarded(side, n=1024, programs=4):
    return call(kernels.guarded, (programs,), x=tensor(n), out=tensor(n), n=n, SIDE=side, BLOCK=256)


def found(one, rules=RULES):
    return [(v.rule, v.verdict, v.access) for v in judge(one, rules)]


def test_a_mask_that_is_never_true_is_found_for_load_and_store():
    assert found(guarded("far")) == [
        ("mask-always-false", "violation", "load"),
        ("mask-always-false", "violation", "store"),
    ]


@pytest.mark.parametrize(("first", "how"), [(64, "false"), (0, "true")])
def test_a_mask_that_data_decides_is_constant_for_the_recorded_contents(first, how):
    one = call(kernels.masked_from, (1,), starts=ids(first), out=tensor(64), BLOCK=64)
    (verdict,) = judge(one, [f"mask-always-{how}"])

    assert verdict.message.endswith("of this call; for the recorded contents of starts")
    assert not any("recorded" in v.message for v in judge(guarded("far"), RULES))


@pytest.mark.parametrize("programs", [4, 10**6])
def test_verdict_is_the_same_for_larger_grids(programs):
    assert len(found(guarded("far", programs=programs))) == 2


def test_an_access_that_is_never_reached_gets_no_verdict():
    assert found(guarded("never reached")) == []


def test_an_access_in_a_branch_that_no_program_takes_gets_no_verdict():
    """No bound of the program alone rules the branch out: two together do."""
    tensors = {"x": tensor(1024), "out": tensor(1024)}
    assert found(call(kernels.straddling, (5,), **tensors, n=1024, BLOCK=256)) == []


@pytest.mark.parametrize(("heads", "expected"), [(2, 0), (1, 0), (0, 8)])
def test_a_line_of_an_unrolled_loop_is_a_finding_only_if_no_trip_runs_it(heads, expected):
    one = call(
        kernels.of_each_head, (1,), x=tensor(80), out=tensor(80), n=20, heads=heads, TRIPS=4,
        BLOCK=32,
    )  # fmt: skip

    assert len(found(one, ["mask-always-false"])) == expected


def test_a_mask_of_round_shapes_is_a_note_where_it_is_asked_for():
    assert found(guarded("near")) == [
        ("mask-always-true", "violation", "load"),
        ("mask-always-true", "violation", "store"),
    ]
    assert found(guarded("near"), None) != []
    assert not [rule for rule, *_ in found(guarded("near"), None) if rule in RULES]


def test_a_mask_that_excludes_the_tail_is_neither_always_true_nor_false():
    assert found(guarded("near", n=1000)) == []


class Lanes(Observer):
    """Counts lanes, and those that are active, by op."""

    def __init__(self):
        self.active, self.all, self.open = defaultdict(int), defaultdict(int), set()

    def access(self, access):
        index = access.op.index
        if access.active is None or not access.certain:
            self.open.add(index)
            return
        self.active[index] += access.active
        self.all[index] += access.lanes


@pytest.mark.sweep
def test_verdicts_agree_with_an_evaluation_of_all_programs(say):
    """On the corpus of defects and mutants of it."""
    answers = Counter()
    for sample in CORPUS[:: usually(4, thorough=1)]:
        if sample.look_at or math.prod(sample.grid) > 512:
            continue
        for _, mutant in islice(mutants(sample.call()), 3):
            lanes = Lanes()
            ended = run(mutant, (lanes,), contents="integers")
            never = set()
            for verdict in judge(mutant, RULES):
                index = verdict.op.index
                answers[verdict.rule] += 1
                if verdict.rule == "mask-always-false":
                    never.add(index)
                    assert not lanes.active[index], (sample.name, verdict)
                elif index not in lanes.open:
                    assert lanes.active[index] == lanes.all[index], (sample.name, verdict)
            if ended is None:
                idle = {i for i, count in lanes.all.items() if count and not lanes.active[i]}
                assert idle - lanes.open <= never, sample.name
    say("masks", f"corpus and mutants: {dict(answers)}, none of them wrong or missed")
    assert answers["mask-always-false"]
    assert answers["mask-always-true"]


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_an_access_in_a_branch_that_only_a_solver_rules_out_gets_no_verdict(seconds):
    """A mask that is false in a branch whose condition never holds, as only a solver knows."""
    tensors = {"x": tensor(1024), "out": tensor(1024)}
    made = call(kernels.straddling_masked, (5,), **tensors, n=1024, BLOCK=256)

    assert judge(made, RULES, Budget(solver_seconds=seconds, solver_seconds_a_call=seconds)) == []
