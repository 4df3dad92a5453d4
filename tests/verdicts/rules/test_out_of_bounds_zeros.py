"""Nothing is concluded from the zero that stands for what a load out of bounds reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds
from kvtrace.verdicts.rules.out_of_bounds_zeros import without_any_zeros, without_zeros
from tests.support.thorough import usually
from tests.verdicts import zero_kernels as kernels
from tests.verdicts.calls import call, ids, tensor


def verdicts(made, rule, arg=None):
    return [v for v in judge(made, (rule,)) if v.rule == rule and arg in (None, v.arg)]


def test_an_access_by_an_index_that_was_read_out_of_bounds_is_unknown():
    made = call(
        kernels.gather, (2,), ids=ids(*range(1, 13)), table=tensor(13), result=tensor(16), BLOCK=8
    )
    (load,) = verdicts(made, "out-of-bounds", "ids")
    assert load.verdict == "violation"
    (led,) = verdicts(made, "out-of-bounds", "table")
    assert led.verdict == "unknown"
    assert "is itself out of bounds and may read anything" in led.reason
    assert "in line 10" in led.reason
    (stored,) = verdicts(made, "out-of-bounds", "result")
    assert stored.verdict == "proven"


def test_doubt_spreads_through_loads_that_depend_on_a_load_out_of_bounds():
    links = tensor(8, dtype="i32", data=np.arange(8, dtype=np.int32))
    made = call(
        kernels.gather_of_gather, (2,), ids=ids(*range(1, 13)), links=links, table=tensor(8),
        result=tensor(16), BLOCK=8,
    )  # fmt: skip
    found = {v.arg: v.verdict for v in verdicts(made, "out-of-bounds")}
    assert found["ids"] == "violation"
    assert found["table"] == "unknown"


def test_a_proof_for_any_contents_remains_after_a_load_out_of_bounds():
    made = call(
        kernels.gather_clamped, (2,), ids=ids(*range(1, 13)), table=tensor(13),
        result=tensor(16), size=13, BLOCK=8,
    )  # fmt: skip
    (led,) = verdicts(made, "out-of-bounds", "table")
    assert led.verdict == "proven"


@pytest.mark.parametrize(
    ("numbers", "program", "lane"),
    [
        ([1, 2, 3, 99, *range(4, 12)], 0, 3),  # all loads of the program are in bounds
        ([*range(1, 10), 99, 11], 1, 1),  # the last lanes of it read past the ids
    ],
)
def test_a_witness_whose_own_load_is_in_bounds_stays(numbers, program, lane):
    made = call(
        kernels.gather, (2,), ids=ids(*numbers), table=tensor(13), result=tensor(16), BLOCK=8
    )
    (led,) = verdicts(made, "out-of-bounds", "table")
    assert (led.verdict, led.program, led.lane) == ("violation", (program, 0, 0), (lane,))
    assert led.lanes is None


@pytest.mark.parametrize(
    ("kernel", "rule"),
    [
        (kernels.divide, "division-by-zero"),
        (kernels.asserting, "device-assert"),
        (kernels.scatter, "race"),
    ],
)
def test_verdicts_of_other_rules_that_depend_on_a_substituted_zero_are_unknown(kernel, rule):
    """All ids differ and none is zero; what four lanes read past their end is not known."""

    def judged(count):
        result = tensor(17, dtype="i32", data=np.zeros(17, np.int32))
        made = call(kernel, (2,), ids=ids(*range(1, count + 1)), result=result, BLOCK=8, debug=True)
        return verdicts(made, rule)[-1]  # debug adds assertions of Triton's own before

    assert judged(16).verdict == "proven"
    found = judged(12)
    assert found.verdict == "unknown"
    assert "is itself out of bounds" in found.reason


def test_a_real_zero_divisor_is_found_despite_substituted_zeros():
    made = call(
        kernels.divide, (2,), ids=ids(1, 2, 0, *range(4, 13)), result=tensor(16, dtype="i32"),
        BLOCK=8,
    )  # fmt: skip
    (found,) = verdicts(made, "division-by-zero")
    assert (found.verdict, found.program, found.lane) == ("violation", (0, 0, 0), (2,))


def found_by_name(made, rule="out-of-bounds"):
    return {v.arg: v.verdict for v in verdicts(made, rule)}


def test_two_loads_that_leave_their_tensors_at_once_do_not_excuse_each_other():
    made = call(
        kernels.while_alike, (1,), first=ids(1, 2, 3), second=ids(1, 2, 3),
        result=tensor(1, dtype="i32"), count=5,
    )  # fmt: skip
    found = verdicts(made, "out-of-bounds")
    assert {(v.arg, v.verdict) for v in found} == {
        ("first", "violation"), ("second", "violation"), ("result", "proven"),
    }  # fmt: skip
    assert {v.iteration for v in found if v.verdict == "violation"} == {3}


def test_the_first_access_out_of_bounds_stays_a_violation():
    """Node 1's parent is node 0, whose parent is -1: certain, but what lies there is not."""
    made = call(
        kernels.up_to_root, (1,), parents=ids(-1, 0), tokens=ids(7, 8),
        result=tensor(4, dtype="i32"), node=1, steps=4,
    )  # fmt: skip
    found = [v for v in verdicts(made, "out-of-bounds") if v.arg != "result"]
    assert [(v.arg, v.verdict) for v in found] == [
        ("tokens", "violation"), ("parents", "violation"),
    ]  # fmt: skip
    assert {(v.iteration, v.address_offset, v.lanes) for v in found} == {(2, -4, None)}


def test_an_op_before_a_load_out_of_bounds_does_not_depend_on_it():
    made = call(
        kernels.gather_or_return, (3,), starts=ids(0, 2, 4), table=tensor(5), result=tensor(3)
    )
    first, second, third, fourth = (
        v.verdict for v in verdicts(made, "out-of-bounds") if v.access == "load"
    )
    assert (first, second, third, fourth) == ("proven", "proven", "violation", "unknown")


def test_a_violation_that_only_zeros_show_is_unknown():
    made = call(
        kernels.gather_before, (2,), ids=ids(*range(1, 13)), table=tensor(200),
        result=tensor(16), BLOCK=8,
    )  # fmt: skip
    assert found_by_name(made)["table"] == "unknown"


def test_neighbours_out_of_bounds_may_rise_or_fall():
    made = call(kernels.ragged, (5,), starts=ids(0, 1, 2), table=tensor(10), result=tensor(5))
    assert {v.verdict for v in verdicts(made, "out-of-bounds", "table")} == {"unknown"}


def test_a_store_that_may_not_run_is_no_proof_of_equal_values():
    made = call(
        kernels.gather_unless_none, (3,), ids=ids(1, 2), table=tensor(16), result=tensor(24),
        BLOCK=8,
    )  # fmt: skip
    assert found_by_name(made) == {"ids": "violation", "table": "unknown", "result": "proven"}


def test_a_defect_that_needs_two_equal_substitutes_is_no_finding():
    made = call(
        kernels.divide_difference, (2,), ids=ids(*range(1, 13)), result=tensor(16, dtype="i32"),
        BLOCK=8,
    )  # fmt: skip
    (found,) = verdicts(made, "division-by-zero")
    assert found.verdict == "unknown"


def test_a_verdict_before_a_load_left_its_tensor_stays():
    made = call(
        kernels.while_alike, (1,), first=ids(1, 2, 3), second=ids(1, 2, 3),
        result=tensor(1, dtype="i32"), count=5,
    )  # fmt: skip
    seen = EvaluatedBounds(made)
    run(made, (seen,))
    found = [v for v in seen.verdicts(None) if v.verdict == "violation"]
    kept = without_any_zeros(made.module, found)
    assert [v.verdict for v in kept] == ["violation", "unknown"]
    kept = without_any_zeros(made.module, found[::-1])
    assert [v.verdict for v in kept] == ["violation", "unknown"]


RULES = ("out-of-bounds", "division-by-zero", "race")
INDICES = st.lists(st.integers(0, 14), min_size=16, max_size=16)


@pytest.mark.costly("many contents; chosen ones stay by day")
@settings(max_examples=usually(20, thorough=200), deadline=None)
@given(
    st.sampled_from(
        [
            kernels.gather,
            kernels.gather_clamped,
            kernels.gather_before,
            kernels.divide,
            kernels.divide_difference,
            kernels.scatter,
        ]
    ),
    st.integers(1, 16),
    INDICES,
)
def test_verdicts_hold_for_any_bytes_behind_the_tensor(kernel, count, numbers):
    """Judged with its true extent, and as if what lies behind belonged to it: never contrary."""

    def judged(size):
        given = {
            "ids": ids(*numbers[:size]), "table": tensor(12), "result": tensor(18, dtype="i32"),
            "size": 12, "BLOCK": 8,
        }  # fmt: skip
        named = {name: given[name] for name in kernel.arg_names}
        return {(v.rule, v.op.index): v for v in judge(call(kernel, (2,), **named), RULES)}

    whole = judged(16)
    for key, found in judged(count).items():
        if found.arg != "ids" and "unknown" not in (found.verdict, whole[key].verdict):
            assert found.verdict == whole[key].verdict


def test_only_rules_with_verdicts_that_rest_on_such_a_load_are_asked_again():
    made = call(
        kernels.gather_clamped, (2,), ids=ids(*range(1, 13)), table=tensor(13),
        result=tensor(16), size=13, BLOCK=8,
    )  # fmt: skip
    found, asked = judge(made), []

    def judged(other, rules):
        asked.append(set(rules))
        return judge(other, rules)

    without_zeros(made, found, {each.rule for each in found}, judged)
    assert len(asked) == 1
    assert "out-of-bounds" in asked[0] < {each.rule for each in found}
