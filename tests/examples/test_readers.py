"""The reader in another language: it passes the suite, and agrees with kvtrace on real traces."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.readers import (
    READERS,
    answer_of,
    built,
    conformance_cases,
    expected_fields,
    python_reader,
)
from tests.support.tree import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
RECORDED = [
    *(FIXTURES / "h200" / name for name in ("device", "llama_graphs", "llama_ranks", "train")),
    FIXTURES / "profiled" / "graphs" / "kvtrace",
]
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Path:
    return built("reader", tmp_path_factory.mktemp("reader"))


def test_the_reader_in_cpp_is_right_in_every_case(reader: Path) -> None:
    cases = conformance_cases()
    answers = {case.name: answer_of(reader, case) for case in cases}
    assert len(answers) >= 25
    assert {case.name: expected_fields(answers[case.name], case.answer) for case in cases} == {
        case.name: case.answer for case in cases
    }


@pytest.mark.parametrize("trace", RECORDED, ids=lambda path: path.name)
def test_the_reader_in_cpp_counts_as_kvtrace_does(reader: Path, trace: Path) -> None:
    done = subprocess.run([reader, trace], capture_output=True, check=True, timeout=60)
    runs = json.loads(done.stdout)["runs"]
    expected = python_reader().answer(str(trace))["runs"]
    other_lists = {"other_executions": ("name", "executions", "device_ns")}
    for run in runs:
        for name, fields in other_lists.items():
            run[name] = [{field: row[field] for field in fields} for row in run[name]]
    assert runs == expected
    assert sum(run["launches"] for run in runs) > 0


def test_the_reader_in_cpp_needs_nothing_of_kvtrace_and_is_short() -> None:
    text = (READERS / "reader.cpp").read_text(encoding="utf-8")
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    assert all("kvtrace" not in line for line in includes)
    assert len(text.splitlines()) <= 280
