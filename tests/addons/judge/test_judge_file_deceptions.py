"""Candidates that widen their own tolerance, forge, ignore factors of one or zero, or remember."""

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from tests.addons.judge.labeled import deceptions
from tests.support.thorough import THOROUGH, in_turn

ALL = deceptions()
RIGHT = {name: request for name, request in ALL.items() if name.startswith("right.")}
WRONG = {name: request for name, request in ALL.items() if name not in RIGHT}
#: Deceptions with a rule that reports each; some are judged at each push.
TELLING = {
    "forges.what_the_log_tells_from_a_frame": "returned-otherwise",
    "forges.an_answer_of_its_own": "nondeterministic",
    "forges.what_the_log_tells": "reaches",
    "forges.the_whole_log": "cannot-judge",
    "grants_itself.by_a_huge_constant": "wrong-result",
    "ignores.weight_and_bias": "wrong-result",
    "ignores.Normed": "wrong-result",
    "ignores.a_factor": "wrong-result",
    "ignores.what_is_large": "wrong-result",
    "in_eight_bits.without_signs": "wrong-result",
    "remembers.zeroed_by_a_thread": "result-changed",
    "remembers.zeroed_by_a_timer": "result-changed",
    "remembers.wrong_from_call_61": "nondeterministic",
    "remembers.one_buffer": "result-changed",
    "remembers.cached_by_address": "nondeterministic",
    "remembers.a_sum_that_lies": "result-kind",
    "remembers.an_attribute_that_lies": "result-kind",
    "remembers.zeros_at_random": "nondeterministic",
    "beyond.wrong_gradient": "beyond-given",
    "beyond.wrong_where_gradients_are_wanted": "beyond-given",
    "beyond.after_a_million_programs": "state",
    "beyond.one_tensor_twice": "beyond-given",
    "beyond.squares_that_overflow": "wrong-result",
    "beyond.of_nothing": "beyond-given",
    "beyond.sums_of_bytes_that_wrap": "wrong-result",
    "beyond.PacksOnce": "beyond-given",
    "beyond.a_carry_that_is_the_largest": "beyond-given",
    "beyond.maxima_from_zero": "beyond-given",
    "beyond.a_power_by_logarithms": "beyond-given",
    "unseen.at_a_threshold": "wrong-result",
    "unseen.a_whole_number": "beyond-given",
    "unseen.a_transposed_layout": "wrong-result",
    "unseen.ties": "wrong-result",
    "unseen.a_sum_that_wraps": "wrong-result",
    "unseen.undefined_lanes": "undefined-lanes",
    "unseen.trials_that_add_up": "wrong-result",
    "unseen.another_configuration": "never-written",
    "unseen.a_grid_that_no_device_takes": "raises",
    "unseen.sixty_four_programs": "never-written",
    "unseen.the_clock": "surroundings",
    "unseen.when_garbage_is_collected": "result-changed",
    "unseen.another_type": "result-type",
}
EACH = 10
NAMES = in_turn(WRONG if THOROUGH else TELLING, EACH)


def test_collection_has_at_least_twenty_eight_deceptions():
    assert len(WRONG) >= 28
    assert WRONG.keys() >= TELLING.keys()


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_deception_is_not_judged_right(name):
    judgment = judge_file(WRONG[name])

    assert judgment.verdict != "right"
    rules = {
        finding["rule"] for finding in judgment.object["findings"] if finding["severity"] != "note"
    }
    assert TELLING.get(name, next(iter(rules))) in rules, judgment.object["findings"]


@pytest.mark.process
@pytest.mark.parametrize("name", in_turn(RIGHT, EACH))
def test_right_candidate_for_the_same_reference_is_judged_right(name):
    judgment = judge_file(RIGHT[name])
    assert judgment.verdict == "right", judgment.object["findings"]
