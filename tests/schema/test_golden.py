"""Every released version stays readable, and the tables do not change behind the version's back."""

import json
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from tests.schema.make_golden import (
    JOURNALLED,
    SEALED,
    VERSIONS,
    columns_of_tables,
    write_golden,
)
from tests.schema.rows import CONTENTS, HASHES, plain

EACH_VERSION = pytest.mark.parametrize("golden", VERSIONS, ids=lambda path: path.name)


def load(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_format_version_is_that_of_the_newest_golden_trace_or_the_next():
    major, minor = version_numbers(VERSIONS[-1].name[1:])
    assert version_numbers(FORMAT_VERSION) in {(major, minor), (major, minor + 1)}


@EACH_VERSION
def test_a_later_minor_version_only_added_nullable_columns_and_tables(golden):
    major, minor = version_numbers(golden.name[1:])
    if major != version_numbers(FORMAT_VERSION)[0]:
        pytest.skip("another major version may differ in everything")
    now = columns_of_tables()
    for name, old in load(golden / "columns.json").items():
        columns = now[name]["columns"]
        assert {key: columns.get(key) for key in old["columns"]} == old["columns"]
        for added in columns.keys() - old["columns"].keys():
            assert not columns[added]["key"]
            assert version_numbers(columns[added]["since"]) > (major, minor), (
                f"{name}.{added} has come after version {golden.name[1:]}: say so in its `since`"
            )


@EACH_VERSION
@pytest.mark.parametrize("run_id", [SEALED, JOURNALLED])
def test_every_row_of_a_golden_trace_is_read_as_it_was_written(golden, run_id):
    trace = open_trace(golden / "trace")
    for name, expected in load(golden / "rows.json")[run_id].items():
        rows = plain(trace.table(name, [run_id]))
        rows = json.loads(json.dumps(rows, default=bytes.hex))
        known = [{key: row[key] for key in expected[0]} for row in rows]
        assert known == expected, name


@EACH_VERSION
def test_a_golden_trace_is_valid_and_gives_its_artifacts(golden):
    trace = open_trace(golden / "trace")

    problems = validate(golden / "trace")

    assert [problem.text for problem in problems] == []
    assert [run.sealed for run in trace.runs] == [True, False]
    assert [trace.artifact(sha256) for sha256 in HASHES] == list(CONTENTS)


def test_golden_script_writes_the_same_rows_again(tmp_path):
    write_golden(tmp_path)

    again = open_trace(tmp_path / "trace")
    golden = open_trace(VERSIONS[-1] / "trace")
    for name, described in load(VERSIONS[-1] / "columns.json").items():
        columns = [column for column in described["columns"] if column != "bytes"]
        assert again.table(name, columns=columns).equals(golden.table(name, columns=columns)), name
