import csv
import json

import pytest

from kvtrace.converters.query.csv import CONVERTER, safe_text
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import resolve
from tests.support.synthetic_trace import HOSTILE_NAMES, build_synthetic_trace


@pytest.fixture(scope="module")
def selection(tmp_path_factory):
    out = tmp_path_factory.mktemp("csv") / "out"
    build_synthetic_trace(out, runs=2, launches=50)
    return resolve(str(out))


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_table_with_rows_becomes_a_file(selection, tmp_path):
    conversion = CONVERTER.convert(selection, tmp_path / "tables", {})

    names = {path.name for path in conversion.files}
    assert {"launches.csv", "kernels.csv", "artifacts.csv"} <= names
    assert "findings.csv" not in names
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
    for path in conversion.files:
        assert len(rows_of(path)) == selection.table(path.stem).num_rows


def test_one_table_keeps_nanoseconds_and_runs(selection, tmp_path):
    CONVERTER.convert(selection, tmp_path / "x.csv", {"table": "launches"})

    rows = rows_of(tmp_path / "x.csv")
    assert rows[0]["enter"] == "2026-01-02 03:04:05.000100000Z"
    assert {row["run"] for row in rows} == {run.run_id for run in selection.runs}


def test_hostile_names_and_nested_columns_are_read_back(selection, tmp_path):
    CONVERTER.convert(selection, tmp_path / "x.csv", {"table": "kernels"})

    rows = rows_of(tmp_path / "x.csv")
    assert set(map(safe_text, HOSTILE_NAMES)) <= {row["name"] for row in rows}
    assert [stage["stage"] for stage in json.loads(rows[0]["stages"])] == [
        "ttir",
        "ttgir",
        "llir",
        "ptx",
    ]


def test_an_unknown_table_and_an_existing_folder_are_refused(selection, tmp_path):
    with pytest.raises(BadSetting, match="no table 'launch'"):
        CONVERTER.convert(selection, tmp_path / "x.csv", {"table": "launch"})
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.csv").write_text("mine")
    with pytest.raises(BadSetting, match="exists and is not empty"):
        CONVERTER.convert(selection, tmp_path / "there", {})
    with pytest.raises(BadSetting, match="does not exist"):
        CONVERTER.convert(selection, tmp_path / "nowhere" / "tables", {})

    assert [path.name for path in tmp_path.iterdir()] == ["there"]
