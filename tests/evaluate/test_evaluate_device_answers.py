"""The evaluator's values equal a device's, but for the listed differences."""

import pytest

from tests.kernels.answers.agreement import ANSWERS, compare, complaints, listed, subject_of
from tests.kernels.answers.table import count, read
from tests.support.thorough import THOROUGH, in_turn

pytestmark = pytest.mark.usefixtures("free_driver")

TABLE = read(ANSWERS)
RUNS = pytest.mark.parametrize("run", list(TABLE.answers)[:1], ids=lambda run: run.name)
"""The run whose values the evaluator follows; what others answer is in coverage.md."""


def answered(run):
    return list(zip(TABLE.questions, TABLE.answers[run], strict=True))


@RUNS
def test_a_part_of_the_answers_equals_the_device(run):
    differences, totals = compare(answered(run)[::40], run)

    assert complaints(differences, listed()) == []
    assert totals.values > 5_000


@RUNS
@pytest.mark.parametrize(
    "words", ["%", "dot that leaves int32", "dot above", "dot below", "product"]
)
def test_remainders_and_products_equal_the_device(run, words):
    asked = [pair for pair in answered(run) if pair[0].op.startswith(f"corner, {words}")]

    differences, totals = compare(asked[::3], run)

    assert complaints(differences, listed()) == []
    assert totals.values > 50


@RUNS
@pytest.mark.costly("a quarter of a device's answers, 5 s; the part above by day")
def test_all_answers_equal_the_device_but_for_the_list(run):
    differences, totals = compare(in_turn(answered(run), 4), run)

    assert complaints(differences, listed()) == []
    gone = sorted(listed().keys() - differences.keys()) if THOROUGH else []
    assert gone == [], "they no longer differ: drop them"
    least = 0.985 if THOROUGH else 0.97  # of a quarter
    assert totals.equal + totals.other_nan + totals.within > least * totals.values


def test_questions_are_as_many_as_stated():
    assert count(TABLE, library=False) > 300_000
    assert count(TABLE, library=True) > 60_000


def test_each_listed_difference_is_of_a_question():
    asked = {(subject_of(question.op), question.dtype) for question in TABLE.questions}

    assert listed().keys() <= asked
    assert all(difference.reason for difference in listed().values())
