"""The rule `undeclared-write`, on a recorded program."""

from pathlib import Path

import pytest

from kvtrace.addons.memory.judged import findings_of
from kvtrace.addons.memory.rules import DECLARED
from kvtrace.schema.trace import open_trace
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = Path(__file__).with_name("declared.py")


@pytest.mark.process
@pytest.mark.parametrize(("memory", "operators"), [("off", False), ("on", True)])
def test_writes_are_held_against_the_autotuner_and_the_operator_around(tmp_path, memory, operators):
    """The schema of an operator is known where memory was recorded."""
    run_with(
        INSTALLED, [str(PROGRAM)], tmp_path / "cache", fresh=True,
        KVTRACE=str(tmp_path / "out"), KVTRACE_MEMORY=memory,
    )  # fmt: skip
    trace = open_trace(tmp_path / "out")

    tables = findings_of(trace, trace.runs[0], named=True)

    assert tables is not None
    stacks = [*tables["stacks"].to_pylist(), *trace.table("stacks").to_pylist()]
    line = {row["stack_id"]: row["frames"][0]["line"] for row in stacks if row["frames"]}
    rows = [row for row in tables["findings"].to_pylist() if row["rule"] == DECLARED]
    marks = {"violation": "# violation", "proven": "# proven"}
    lines = PROGRAM.read_text().splitlines()
    expected = {
        (number, answer)
        for number, line in enumerate(lines, 1)
        for answer, mark in marks.items()
        if mark in line
    }
    if operators:
        (number,) = (n for n, line in enumerate(lines, 1) if "# inside of an op" in line)
        expected.add((number, "violation"))
    assert {(line[row["stack_id"]], row["verdict"]) for row in rows} == expected
