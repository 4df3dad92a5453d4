"""Verdicts against evaluations of the whole grid, of many kernels and of slightly wrong calls."""

import gc
import weakref
from collections import Counter

import numpy as np
import pytest
import triton
import triton.language as tl
from msgspec import structs
from msgspec.structs import replace

from benchmarks.recorder_growth import counted_calls
from kvtrace.evaluate import TensorArgument
from kvtrace.schema.errors import BadSetting
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules.table import RULES, chosen_rules, default_rules
from tests.kernels.catalog import CASES
from tests.kernels.launching import bind, compile_for, with_tensors
from tests.metrics import kernels
from tests.support.defects import CORPUS
from tests.support.thorough import usually
from tests.verdicts.calls import call, tensor
from tests.verdicts.mutants import call_of, evaluated, mutants

BOUNDS = ("out-of-bounds", "out-of-view")
EVERY = 40
"""Of the catalog, one case in so many is taken here."""


def compare(one) -> Counter:
    """Hold the verdicts on a call against what an evaluation of all its programs touches."""
    seen = evaluated(one)
    broken = {op for _, op in seen.broken}
    counts: Counter = Counter()
    for verdict in judge(one, BOUNDS):
        counts[verdict.verdict] += 1
        if verdict.verdict == "unknown" and verdict.op.index not in seen.doubtful:
            assert "out of bounds and may read anything" in verdict.reason, (one.kernel, verdict)
        if verdict.verdict == "proven":
            assert verdict.op.index not in broken
        if verdict.verdict == "violation" and verdict.op.index not in seen.doubtful:
            assert (verdict.rule, verdict.op.index) in seen.broken
    return counts


@pytest.mark.sweep
@pytest.mark.usefixtures("free_driver")
def test_verdicts_on_the_catalog_and_its_mutants_agree_with_an_evaluation(say):
    total: Counter = Counter()
    for case in CASES[::EVERY]:
        arguments = with_tensors(case.inputs)
        module = compile_for(case.kernel, arguments, case.constexprs)
        whole = call_of(module, bind(case.kernel, arguments), case.grid, case.name)
        for what, mutant in mutants(whole):
            total += compare(mutant)
            total[what.split()[-1]] += 1
    say("soundness", f"one in {EVERY} of the catalog with mutants: {dict(total)}")
    assert total["proven"] > 400
    assert total["violation"] > 50
    assert total["unknown"] < 5


@pytest.mark.sweep
def test_verdicts_on_mutants_of_the_corpus_agree_with_an_evaluation(say):
    total: Counter = Counter()
    each = usually(42, thorough=7)
    for sample in CORPUS[::each]:
        if sample.look_at or sample.programs > 1000:
            continue
        for _, mutant in mutants(sample.call()):
            total += compare(mutant)
    say("soundness", f"one in {each} of the corpus of defects with mutants: {dict(total)}")
    assert total["proven"] > 2100 / each
    assert total["violation"] > 700 / each


def test_only_chosen_rules_have_verdicts():
    one = call(
        kernels.copy_without_mask, (1,), source=tensor(100, room=200), result=tensor(100, room=200),
        size=100, BLOCK=128,
    )  # fmt: skip

    assert {v.rule for v in judge(one, BOUNDS)} == {"out-of-bounds", "out-of-view"}
    assert {v.rule for v in judge(one, ["out-of-bounds"])} == {"out-of-bounds"}
    assert [v.rule for v in judge(one, ["out-of-view"])] == ["out-of-view"]


def test_an_unknown_rule_is_an_error_that_lists_all_rules():
    with pytest.raises(BadSetting, match=r"no rule 'out-of-luck' .*; there are out-of-bounds"):
        chosen_rules(["out-of-luck"])


def test_rules_have_an_id_a_severity_a_summary_and_a_hint():
    assert set(default_rules()) <= set(RULES)
    for name, rule in RULES.items():
        assert name == rule.id
        assert rule.severity in ("error", "warning", "note")
        assert rule.summary
        assert rule.hint


def test_judging_writes_to_no_tensor():
    ids = np.arange(64, dtype=np.int64)
    ids[5] = 70
    held = tensor(64, dtype="i64", data=ids)
    one = call(kernels.gather, (1,), source=tensor(64), chosen=held, result=held, size=64, BLOCK=64)
    before = held.storage.data.copy()

    verdicts = judge(one)

    assert (held.storage.data == before).all()
    assert held.storage.data.flags.writeable
    assert "violation" in {v.verdict for v in verdicts}


class WatchedTensor(TensorArgument, frozen=True, weakref=True):
    """A tensor of which a test knows whether it is still there."""


def test_a_judged_call_is_freed():
    one = call(kernels.copy, (4, 3), source=tensor(1000), result=tensor(1000), size=1000, BLOCK=256)
    source, result, *rest = one.arguments
    watched = [WatchedTensor(*structs.astuple(each)) for each in (source, result)]
    one = replace(one, arguments=(*watched, *rest))
    kept = [weakref.ref(each) for each in watched]
    del source, result, watched
    judge(one)
    del one
    gc.collect()
    assert not [each for each in kept if each() is not None]


@triton.jit
def row_of_bytes(source, result, first, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(result + lanes, tl.load(source + first * stride + lanes))


def reasons_of(rule, stride, *, room=None):
    rows = tensor(70_000, 32_768, dtype="i8", room=room)  # never allocated
    one = call(row_of_bytes, (1,), source=rows, result=tensor(64, dtype="i8"), first=69_999,
               stride=stride, BLOCK=64)  # fmt: skip
    return [verdict.reason for verdict in judge(one, rules=rule) if verdict.verdict == "violation"]


def test_a_rule_of_bounds_alone_names_the_overflow_behind_an_address():
    assert reasons_of(["out-of-bounds"], 32_768) == ["first * stride wraps around"]
    assert reasons_of(["out-of-bounds", "race"], 32_768) == ["first * stride wraps around"]


def test_an_address_outside_that_fits_its_width_names_no_overflow():
    assert "wraps around" not in str(reasons_of(["out-of-bounds"], 30_000, room=1 << 20))
    assert reasons_of(["out-of-bounds"], 30_000, room=1 << 20)


@triton.jit
def powers(source, result, size, TIMES: tl.constexpr):
    index = tl.program_id(0) * 32 + tl.arange(0, 32)
    mask = index < size
    number = tl.load(source + index, mask=mask)
    for _ in tl.static_range(TIMES):
        number = number * number + 1.0
    tl.store(result + index, number, mask=mask)


def test_a_further_call_of_a_kernel_asks_nothing_again_of_ops_that_decide_no_access():
    def work(times):
        x, y = tensor(100), tensor(100)
        one = call(powers, (4,), source=x, result=y, size=100, TIMES=times)
        judge(one)
        with counted_calls() as calls:
            judge(one)
        return calls[0]

    assert work(1) == work(40)
