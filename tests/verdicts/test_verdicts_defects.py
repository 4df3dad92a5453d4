"""The corpus of defects: labels compared with brute force, verdicts compared with labels.

Nothing may be missed, nothing may be found that is not there, and what is unknown must be unknown
for the reason that the label gives. Every witness is shown to be true by running its program.
"""

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from triton.compiler.errors import CompilationError

from corpus.defects import within
from corpus.questions.defects import Sample
from kvtrace.evaluate import Observer, TensorArgument, evaluate
from kvtrace.evaluate.errors import DeviceAssertion
from kvtrace.ir import Op
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules.table import RULES, default_rules
from kvtrace.verdicts.verdict import Verdict
from tests.support.defects import CORPUS, LEFT_OUT
from tests.support.thorough import usually
from tests.support.tiers import some
from tests.verdicts import brute_force
from tests.verdicts.meeting_lanes import stores_of

BOUNDS = ("out-of-bounds", "out-of-view")
UNDEFINED = ("undefined-lanes", "undefined-use")


#: Labels tell of the corpus, not of verdicts: one in so many is held against brute force.
OF_LABELS = usually(4, thorough=1)


def each(samples, one_in=1):
    chosen = [sample for sample in CORPUS if samples(sample)][::one_in]
    values = some(chosen, 6, pushed=3)
    return pytest.mark.parametrize("sample", values, ids=lambda s: f"{s.theme}: {s.name}")


every_sample = each(lambda sample: True)
run_by_all_programs = each(lambda sample: not sample.look_at)


def labeled(sample: Sample, *rules: str) -> set[tuple[str, str]]:
    return {(e.rule, e.mark) for e in sample.violations if not rules or e.rule in rules}


def following(sample: Sample) -> set[tuple[str, str]]:
    marks = within.MAY_BE_UNKNOWN.get(sample.kernel.fn.__name__, ())
    of_lanes = {("race-within-program", mark) for mark in marks}
    return of_lanes | {(e.rule, e.mark) for e in (*sample.follows, *sample.doubtful)}


# -- the labels are right -----------------------------------------------------------------------


@cache
def watched(sample: Sample) -> brute_force.Watcher:
    return brute_force.watched(sample)


@cache
def met(sample: Sample) -> list[tuple[Op, int, Op, int]]:
    """Pairs of ops and programs that touch the same bytes."""
    return brute_force.meetings(sample, watched(sample))


@each(lambda _: True, OF_LABELS)
def test_bounds_labels_agree_with_every_lane_of_every_program(sample):
    watcher = watched(sample)

    broken = brute_force.bounds_broken(sample, watcher)
    assert labeled(sample, *BOUNDS) <= broken <= labeled(sample, *BOUNDS) | following(sample)
    failed = watcher.assertion is not None
    assert failed == bool(labeled(sample, "device-assert"))
    if not watcher.unknown:
        assert not [e for e in sample.unknowns if e.rule == "out-of-bounds"]


@run_by_all_programs
def test_race_labels_agree_with_accesses_of_pairs_of_programs(sample):
    marks = {sample.mark_of(op) for pair in met(sample) for op in (pair[0], pair[2])}
    marks -= {mark for rule, mark in following(sample) if rule == "race"}
    races = {mark for _, mark in labeled(sample, "race")}

    assert bool(marks) == (bool(races) or sample.meets)
    assert races <= marks


@each(lambda sample: sample.theme in ("overflow", "serving: sizes"), OF_LABELS)
def test_overflow_labels_agree_with_64_bit_arithmetic(sample):
    changed = brute_force.where_wide_differs(sample)

    assert changed == bool(labeled(sample, "overflow"))


@each(lambda s: not s.look_at and not labeled(s, "device-assert", "null-pointer"), OF_LABELS)
def test_undefined_lane_labels_agree_with_runs_on_other_values(sample):
    changed = brute_force.stored_with(sample, 0) != brute_force.stored_with(sample, 100)

    # An address from such a lane does not show in what is stored, if the store masks it off.
    hidden = labeled(sample) == {("undefined-use", "load")}
    assert changed == (bool(labeled(sample, *UNDEFINED)) and not hidden)


@each(lambda _: True, OF_LABELS)
def test_alignment_and_mask_labels_agree_with_addresses(sample):
    misaligned = {mark for _, mark in labeled(sample, "misaligned")}
    dead = {mark for _, mark in labeled(sample, "mask-always-false")}

    assert brute_force.misaligned(sample, watched(sample)) == misaligned
    assert brute_force.never_active(sample, watched(sample)) == dead


@each(lambda sample: sample.theme == "descriptors")
def test_descriptor_labels_agree_with_chunks_and_multiples_of_16(sample):
    added = brute_force.stored_past_extents(sample, watched(sample))
    marks = {mark for _, mark in labeled(sample, "descriptor-contract")}

    assert marks == added | brute_force.unlike_tensor_maps(sample)


@each(lambda sample: not sample.look_at and not labeled(sample, "device-assert"), OF_LABELS)
def test_division_labels_agree_with_the_divisors(sample):
    marks = {mark for _, mark in labeled(sample, "division-by-zero")}
    follow = {mark for rule, mark in following(sample) if rule == "division-by-zero"}

    assert marks <= brute_force.divided_by_zero(sample) <= marks | follow


@each(
    lambda s: (
        not (s.look_at or s.unknowns or s.doubtful or labeled(s, "device-assert"))
        and (s.theme == "lane conflicts" or not labeled(s, *BOUNDS, "null-pointer"))
    ),
    OF_LABELS,
)
def test_lane_conflict_labels_agree_with_the_stores_of_lanes(sample):
    conflicts = {sample.mark_of(op) for op in stores_of(sample).conflict.values()}

    assert conflicts <= {mark for _, mark in labeled(sample, "lane-conflict")}


@each(lambda sample: labeled(sample, "lane-conflict") and not sample.doubtful)
def test_lanes_labeled_as_conflicting_conflict(sample):
    by_pointer = {op.index for op in sample.module().ops if op.name == "tt.store"}
    by_pointer -= {op.index for op in sample.module().ops if "ptr<tensor" in str(op.operands[:1])}
    seen = stores_of(sample).conflict
    labels = {mark for _, mark in labeled(sample, "lane-conflict")}

    assert labels == {sample.mark_of(op) for op in seen.values()} or not by_pointer


def test_a_sample_is_left_out_only_where_triton_cannot_compile_it():
    for sample in {why: sample for sample, why in LEFT_OUT.items()}.values():
        with pytest.raises(CompilationError):
            sample.module()
    if LEFT_OUT:
        pytest.skip(f"{len(LEFT_OUT)} samples: {'; '.join(set(LEFT_OUT.values()))}")


def test_the_corpus_is_large_and_has_as_many_near_misses_as_defects():
    kernels = {id(sample.kernel) for sample in CORPUS}
    with_defect = {id(sample.kernel) for sample in CORPUS if sample.violations}

    assert len(kernels) >= 60
    assert len(with_defect) >= 60
    clean = sum(not sample.violations and not sample.unknowns for sample in CORPUS)
    assert clean >= 100


def test_half_of_the_corpus_are_serving_kernels_with_a_defective_twin():
    serving = [sample for sample in CORPUS if sample.theme.startswith("serving")]
    answers = defaultdict(set)
    for sample in serving:
        answers[sample.kernel.fn.__name__].add(sample.is_clean)

    assert len(serving) >= 250
    assert len(answers) >= 50
    assert not [name for name, clean in answers.items() if len(clean) == 1]


# -- the verdicts are the labels ----------------------------------------------------------------


@cache
def judged(sample: Sample) -> tuple[Verdict, ...]:
    return tuple(judge(sample.call()))


def found(sample: Sample, answer: str) -> set[tuple[str, str]]:
    return {(v.rule, sample.mark_of(v.op)) for v in judged(sample) if v.verdict == answer}


def both_ends(sample: Sample) -> set[tuple[str, str]]:
    """Violations, those between two ops at both of them."""
    ends = {
        (verdict.rule, sample.mark_of(verdict.other_op))
        for verdict in judged(sample)
        if verdict.verdict == "violation" and verdict.other_op is not None
    }
    return found(sample, "violation") | ends


@every_sample
def test_no_defect_is_missed(sample):
    assert labeled(sample) <= both_ends(sample)


@every_sample
def test_no_defect_is_invented_or_reported_twice(sample):
    expected = labeled(sample) | following(sample)
    if labeled(sample, "race"):  # one race may show in several pairs of ops: all must be true
        expected |= {
            ("race", sample.mark_of(op)) for pair in met(sample) for op in (pair[0], pair[2])
        }

    assert found(sample, "violation") <= expected
    places = Counter(
        (verdict.rule, verdict.op.index, verdict.arg, verdict.other_op)
        for verdict in judged(sample)
        if verdict.verdict == "violation"
    )
    assert set(places.values()) <= {1}


@every_sample
def test_unknown_verdicts_have_the_reason_of_the_label(sample):
    unknown = [verdict for verdict in judged(sample) if verdict.verdict == "unknown"]
    places = found(sample, "unknown")
    wanted = {(e.rule, e.mark) for e in sample.unknowns}
    if sample.doubtful:  # then so is the arithmetic on the way there
        places = {each for each in places if each[0] != "overflow" or each in wanted}

    assert wanted <= places <= wanted | following(sample)
    labeled_so = [v for v in unknown if (v.rule, sample.mark_of(v.op)) in wanted]
    assert all(sample.because in verdict.reason for verdict in labeled_so)


@each(lambda sample: sample.doubtful)
def test_verdicts_that_depend_on_unknown_values_are_not_proven(sample):
    doubtful = {(e.rule, e.mark) for e in sample.doubtful}

    assert not found(sample, "proven") & doubtful


def test_every_default_rule_is_broken_somewhere_in_the_corpus():
    # grid-limit is of a launch and of no line that could have a mark: rules/test_grids.py;
    # buffer-range is of AMD GPUs alone: rules/test_buffers.py
    of_lines = set(default_rules()) - {"grid-limit", "buffer-range"}
    missing = of_lines - {rule for sample in CORPUS for rule, _ in labeled(sample)}
    assert not missing, "add labeled kernels that break them to a file of corpus/defects/"
    assert {rule for sample in CORPUS for rule, _ in labeled(sample)} <= set(RULES)


@pytest.mark.sweep
def test_the_corpus_has_the_documented_figures(say):
    answers = Counter(verdict.verdict for sample in CORPUS for verdict in judged(sample))
    missed = [(s.name, e) for s in CORPUS for e in sorted(labeled(s) - both_ends(s))]
    bad = sum(bool(sample.violations) for sample in CORPUS)
    undecided = [sample for sample in CORPUS if found(sample, "unknown")]
    kernels = len({id(sample.kernel) for sample in CORPUS})
    say(
        "corpus of defects",
        f"{len(CORPUS)} calls of {kernels} kernels: {bad} with a defect, {len(missed)} missed; "
        f"{answers['proven']} verdicts proven, {answers['violation']} violations, "
        f"{answers['unknown']} unknown, in {len(undecided)} calls:",
        *(
            f"  {sample.name}: {verdict.rule}: {verdict.reason}"
            for sample in undecided
            for verdict in judged(sample)
            if verdict.verdict == "unknown"
        ),
    )
    assert not missed


# -- every witness replays ----------------------------------------------------------------------


class Touch(Observer):
    """Keeps the addresses of an op in one iteration of its innermost loop, lane by lane."""

    def __init__(self, op: Op, iteration: int) -> None:
        self.op = op
        self.iteration = iteration
        self.addresses: dict[tuple[int, ...], set[int]] = defaultdict(set)
        self.failed: list[Op] = []

    def access(self, access) -> None:
        parts = access.parts
        if access.op is not self.op or parts is None:
            return
        shape = (access.executions, *parts.block)
        offsets = parts.constant + sum(parts.terms, np.zeros(shape, np.int64))
        active = np.ones(shape, np.bool_)
        active &= np.reshape(parts.iteration, (-1, *[1] * len(parts.block))) == self.iteration
        for factor in parts.factors:
            active &= factor
        for place in map(tuple, np.argwhere(active).tolist()):
            self.addresses[place[1:]].add(int(offsets[place]))

    def device_assert(self, failure) -> None:
        self.failed.append(failure.op)


def touched(sample: Sample, verdict: Verdict, program, op: Op) -> Touch:
    """Run one program, and see what an op of it touches.

    Where atomics hand on from program to program, those before it are run too.
    """
    call = sample.call()
    seen = Touch(op, verdict.iteration or 0)
    number = brute_force.linear(program, call.grid)
    handed_on = any(each.name == "tt.atomic_rmw" for each in call.module.ops)
    chosen = np.arange(0 if handed_on else number, number + 1)
    try:
        evaluate(call.module, call.arguments, call.grid, observers=[seen], programs=chosen)
    except DeviceAssertion:
        assert seen.failed
    return seen


@each(lambda sample: labeled(sample, *BOUNDS))
def test_the_witness_of_an_access_touches_what_it_says(sample):
    arguments = sample.bound()
    for verdict in judged(sample):
        if verdict.verdict != "violation" or verdict.rule not in BOUNDS:
            continue
        seen = touched(sample, verdict, verdict.program, verdict.op)
        assert verdict.address_offset in seen.addresses[tuple(verdict.lane)]
        (tensor,) = [a for a in arguments if a.name == verdict.arg]
        assert isinstance(tensor, TensorArgument)
        limits = tensor.storage_bytes if verdict.rule == "out-of-bounds" else tensor.view_bytes
        if verdict.past_end_bytes > 0:
            assert verdict.address_offset < limits[1] + verdict.past_end_bytes
            assert verdict.address_offset + 8 >= limits[1] + verdict.past_end_bytes
        else:
            assert verdict.address_offset - limits[0] == verdict.past_end_bytes


@each(lambda sample: labeled(sample, "race"))
def test_both_programs_of_a_race_touch_the_same_bytes(sample):
    for verdict in judged(sample):
        if verdict.verdict != "violation" or verdict.rule != "race":
            continue
        assert verdict.program != verdict.other_program
        pairs = {(one.index, other.index) for one, _, other, _ in met(sample)}
        ends = verdict.op.index, (verdict.other_op or verdict.op).index
        assert ends in pairs or ends[::-1] in pairs
        mine, others = (
            brute_force.bytes_of(
                watched(sample), sample.bound(), op, brute_force.linear(program, sample.grid)
            )
            for op, program in (
                (verdict.op, verdict.program),
                (verdict.other_op or verdict.op, verdict.other_program),
            )
        )
        assert mine & others


SHOWN_BY_ONE_PROGRAM = {
    "overflow": lambda sample, verdict, only: brute_force.where_wide_differs(sample, only),
    "division-by-zero": lambda sample, verdict, only: (
        sample.mark_of(verdict.op) in brute_force.divided_by_zero(sample, only)
    ),
    "device-assert": lambda sample, verdict, only: (
        brute_force.watched(sample, only=only).assertion.op.index == verdict.op.index
    ),
    "misaligned": lambda sample, verdict, only: (
        sample.mark_of(verdict.op)
        in brute_force.misaligned(sample, brute_force.watched(sample, only=only))
    ),
    "undefined-lanes": lambda sample, verdict, only: (
        brute_force.stored_with(sample, 0, only) != brute_force.stored_with(sample, 100, only)
    ),
}
"""How running the program of a witness, and no other, shows what it says."""


@each(lambda sample: labeled(sample, *SHOWN_BY_ONE_PROGRAM))
def test_the_program_of_a_witness_shows_the_defect(sample):
    for verdict in judged(sample):
        if verdict.verdict != "violation" or verdict.rule not in SHOWN_BY_ONE_PROGRAM:
            continue
        program = verdict.program or (0, 0, 0)  # none is named where it is the same in all
        only = [brute_force.linear(program, sample.grid)]
        assert SHOWN_BY_ONE_PROGRAM[verdict.rule](sample, verdict, only), verdict
