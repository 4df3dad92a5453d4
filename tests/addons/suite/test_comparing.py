"""Comparison of results: only differences beyond the noise have a direction."""

from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.suite.comparing import compare, comparison_lines
from tests.addons.suite.hand_results import call, result

MIRRORED = {"faster": "slower", "slower": "faster", "same": "same", "not known": "not known"}
medians = st.lists(st.integers(50, 200), min_size=1, max_size=6)


def verdict(before, after):
    (one,) = compare(result(call("1-a", *before)), result(call("1-a", *after)))
    return one.verdict


def test_a_change_beyond_all_rounds_has_a_direction():
    assert verdict((100, 101, 102), (110, 111, 112)) == "slower"
    assert verdict((110, 111, 112), (100, 101, 102)) == "faster"


def test_overlapping_rounds_are_the_same():
    assert verdict((100, 101, 120), (119, 130, 140)) == "same"


def test_a_change_below_one_percent_is_the_same():
    assert verdict((1000, 1000, 1000), (1008, 1008, 1008)) == "same"


def test_two_rounds_tell_nothing():
    assert verdict((100, 100), (200, 200, 200)) == "not known"


@given(medians, medians)
def test_the_other_direction_is_the_mirrored_verdict(before, after):
    assert verdict(after, before) == MIRRORED[verdict(before, after)]


@given(medians)
def test_a_result_is_not_faster_than_itself(rounds):
    assert verdict(rounds, rounds) in ("same", "not known")


def test_two_clocks_are_not_compared():
    before, after = call("1-a", 100, 100, 100), call("1-a", 200, 200, 200, clock="events")
    (one,) = compare(result(before), result(after))
    assert one.verdict == "not known"
    assert not one.is_regression(0.05)


def test_a_call_of_another_suite_is_found_by_its_arguments():
    before, after = call("1-a", 100, 100, 100), call("7-a", 200, 200, 200)
    after.title = before.title
    (one,) = compare(result(before), result(after))
    assert (one.name, one.verdict, one.same_bytes) == ("7-a", "slower", None)
    assert compare(result(call("1-a", 1, 1, 1)), result(call("1-b", 1, 1, 1))) == []


def test_a_regression_is_beyond_the_threshold():
    (one,) = compare(result(call("1-a", 100, 100, 100)), result(call("1-a", 110, 110, 110)))
    assert one.is_regression(0.05)
    assert not one.is_regression(0.2)


def test_bytes_are_compared_for_equal_seeds_alone():
    before = call("1-a", 100, 100, 100, results={"x": "ab"})
    after = call("1-a", 100, 100, 100, results={"x": "cd"})
    assert compare(result(before), result(after))[0].same_bytes is False
    assert compare(result(before), result(after, seed=1))[0].same_bytes is None


def test_lines_list_what_changed_and_the_sum():
    before = result(call("1-a", 100, 100, 100), call("2-b", 100, 100, 100))
    after = result(call("1-a", 200, 200, 200, results={"x": "1"}), call("2-b", 100, 101, 100))
    lines = list(comparison_lines(compare(before, after), "old.json"))
    assert lines[1:] == [
        "1-a is slower than in old.json: 100 ns to 200 ns (2.000 times)",
        "Against old.json: 1 slower, 1 same of 2 calls; weighted by launches 2 µs to 3 µs "
        "(1.500 times)",
        "Other bytes than in old.json: 1-a",
    ]
    assert "nothing is compared" in "".join(comparison_lines([], "old.json"))
