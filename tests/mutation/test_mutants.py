"""Mutants are valid Python, differ in one place, and leave types and messages alone."""

import ast

import pytest

from tests.mutation.__main__ import CHOSEN, day_markers
from tests.mutation.mutants import listed_mutants, mutants_of
from tests.support.tree import ROOT

SOURCE = b'''"""Not 1 + 1."""
from typing import Literal

LEAST: Literal[3] | None = 3  # \xc3\xa9


def chosen(values: list[int], most: int = 2) -> bool | None:
    if not values and most is not None:
        raise ValueError(f"{most + 1} of {len(values)}")
    assert most >= 0
    found = [each // 2 for each in values if 0 <= each < most]
    return True if found else "a" + "b" not in values
'''


def changes():
    return {str(mutant) for mutant in mutants_of(SOURCE)}


def test_mutants_change_operators_constants_and_conditions():
    assert changes() == {
        "3 → 4", "2 → 3", "0 → 1", "not values → bool(values)", "and → or", "is not → is",
        "// → *", "<= → <", "< → <=", "True → False", "found → (not (found))", "not in → in",
    }  # fmt: skip


def test_each_mutant_is_valid_python_and_differs_in_one_line():
    lines = SOURCE.splitlines()
    for mutant in mutants_of(SOURCE):
        changed = mutant.of(SOURCE)
        ast.parse(changed)
        places = [
            number
            for number, (before, after) in enumerate(
                zip(lines, changed.splitlines(), strict=True), 1
            )
            if before != after
        ]
        assert places == [mutant.line], mutant


@pytest.mark.parametrize(
    "text",
    [
        "x: int | None = y",
        "def f(x: Literal[1]) -> Literal[2]: ...",
        "@part(3)\ndef f(): ...",
        "raise E(1 + 2)",
        "if TYPE_CHECKING:\n    a = 1",
        "'a' + b",
    ],
)
def test_mutants_leave_types_and_messages_unchanged(text):
    assert mutants_of(text.encode()) == []


def test_listed_mutants_are_valid_python_and_differ_from_their_file():
    for path, mutant in listed_mutants(CHOSEN):
        source = (ROOT / path).read_bytes()
        assert ast.dump(ast.parse(mutant.of(source))) != ast.dump(ast.parse(source)), path


def test_text_that_is_not_in_its_file_once_is_refused(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("cli/settings.py\tno such text\t0\n")
    with pytest.raises(ValueError, match="0 times, not once"):
        listed_mutants(table)


def test_tests_of_the_day_are_those_of_the_makefile():
    assert day_markers().startswith("smoke or not (process or")
