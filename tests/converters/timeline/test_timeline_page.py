"""The queries of docs/timeline.md give what they say, on a run that was recorded on an H200."""

import json
import re
from pathlib import Path

import pytest

from kvtrace.cli import main

ROOT = Path(__file__).parents[3]
FIXTURE = ROOT / "tests" / "fixtures" / "h200" / "device"
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "timeline.md").read_text(), re.DOTALL)


@pytest.fixture
def answers(capsys):
    def ask(number):
        assert main(["sql", str(FIXTURE), QUERIES[number], "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)["rows"]

    return ask


def test_time_by_kernel_holds_every_execution(answers):
    rows = answers(0)

    assert sum(row["executions"] for row in rows) == 258
    assert {row["name"] for row in rows if row["joined"]} == {"scaled", "added"}
    assert [row["ns"] for row in rows] == sorted((row["ns"] for row in rows), reverse=True)


def test_waits_are_between_a_launch_and_its_execution(answers):
    rows = answers(1)

    assert {row["name"] for row in rows} == {"scaled", "added"}
    assert all(0 < row["waited_ns"] < 1_000_000 for row in rows)


def test_each_variant_has_its_compilation(answers):
    rows = answers(2)

    assert len(rows) == 12
    assert all(row["registers"] > 0 for row in rows)
    assert all(row["load_ms"] is None for row in rows)  # the format was older
