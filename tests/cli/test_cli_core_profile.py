"""Every command reads what other programs write: required columns alone, and words of their own."""

import json
import shutil
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.layout import part_path
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.vocabularies import vocabularies
from kvtrace.schema.writer import RunWriter
from tests.cli.reading_commands import READING, asked
from tests.support.core_trace import RUN, write_core_trace
from tests.support.tiers import some
from tests.support.tree import ROOT

TABLES = {
    "all": ("kernels", "calls", "launches", "gpu_kernels", "runs"),
    "no executions": ("kernels", "calls", "launches", "runs"),
    "executions alone": ("gpu_kernels", "runs"),
    "nothing": ("runs",),
}
#: A recording with IR, and the words of open vocabularies that replace those in it.
RECORDED = ROOT / "tests" / "fixtures" / "h200" / "planted" / "good"
WORD = "acme:tile"


def assert_answers(result):
    """Assert that a command printed what it knows, or said in one sentence what is missing."""
    code, out, err = result
    assert code in (0, 1, 2)
    assert "Traceback" not in err
    if code == 2:
        assert all("unknown[" in line for line in out.splitlines()) or "nothing" in out + err
        assert err.startswith("kvtrace: ") or "nothing" in out


@pytest.mark.parametrize("case", some(list(product(READING, TABLES)), 6), ids="-".join)
def test_a_command_reads_required_columns_alone(kvtrace, tmp_path, case):
    command, tables = case
    trace = write_core_trace(tmp_path / "trace", TABLES[tables])

    assert_answers(kvtrace(*asked(command, trace)))


@pytest.mark.parametrize("tables", TABLES)
def test_required_columns_alone_are_valid(tmp_path, tables):
    trace = write_core_trace(tmp_path / "trace", TABLES[tables])

    assert validate(trace) == validate(trace, "core") == []


def test_launches_and_times_of_required_columns_are_counted(kvtrace, tmp_path):
    trace = write_core_trace(tmp_path / "trace")

    _, text, _ = kvtrace("info", trace)
    _, profile, _ = kvtrace("profile", trace, "--json")

    assert "4 launches of 3 unique calls" in text
    assert "4 executions" in text
    assert [(row["name"], row["launches"]) for row in json.loads(profile)["kernels"]] == [
        ("tile_add", 3),
        ("tile_dot", 1),
    ]


def test_weights_of_a_producer_are_counted_and_its_name_is_shown(kvtrace, tmp_path):
    trace = write_core_trace(tmp_path / "trace", ("kernels", "calls", "launches", "runs"))
    writer = RunWriter(trace, "20270101-000000-001-00c0ffee", of_this_process=False)
    writer.append_rows("runs", [{"producer": "acme", "producer_version": "3"}])
    times = {"start": [10, 40], "end": [20, 60]}
    writer.append("gpu_kernels", {"record": [0, 1], "weight": [1, 9], **times})
    writer.seal({"required_features": ["partial"]})

    _, text, _ = kvtrace("info", f"{trace}/{writer.run_id}", "--all")

    assert "10 executions" in text
    assert "producer  acme 3" in text
    assert "does not hold all launches of its program" in " ".join(text.split())


@pytest.fixture(scope="module")
def recorded_elsewhere(tmp_path_factory):
    """A recording in which each word of an open vocabulary is one that nobody registered."""
    folder = tmp_path_factory.mktemp("elsewhere") / "trace"
    source = open_trace(RECORDED)
    (run_id,) = source.run_ids
    for path in RECORDED.rglob("*.parquet"):
        table = path.parents[1].name
        rows = pq.read_table(path, partitioning=None)
        for vocabulary in vocabularies():
            for column in vocabulary.columns:
                name, *fields = column.split(".")[1:]
                if column.startswith(f"{table}.") and name in rows.column_names:
                    rows = with_word(rows, name, fields)
        facts = dict(pq.read_schema(path).metadata)
        facts.pop(b"kvtrace.sha256", None)  # a tool that rewrites a part leaves it out
        target = folder / path.relative_to(RECORDED)
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.replace_schema_metadata(facts), target)
    assert part_path(folder, "kernels", run_id, 0).exists()
    return folder


@pytest.fixture
def foreign(recorded_elsewhere, tmp_path):
    """A copy of it, to which a command may add."""
    return Path(shutil.copytree(recorded_elsewhere, tmp_path / "trace"))


def with_word(rows, name, fields):
    """Rows whose column, or the field of whose entries, is `WORD` wherever it was not null."""
    kind = rows.schema.field(name).type
    values = [
        changed(value, fields) if value is not None else None for value in rows[name].to_pylist()
    ]
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, kind))


def changed(value, fields):
    if not fields:
        return WORD
    return [{**entry, fields[0]: entry[fields[0]] and WORD} for entry in value]


def test_unknown_words_are_valid_and_kept(foreign):
    trace = open_trace(foreign)

    assert validate(foreign) == []
    assert trace.table("kernels")["origin"].to_pylist() == [WORD]
    assert set(trace.table("launches")["phase"].to_pylist()) == {WORD}


@pytest.mark.parametrize("command", some(list(READING), 4))
def test_a_command_reads_words_that_nobody_registered(kvtrace, foreign, command):
    assert_answers(kvtrace(*asked(command, foreign)))


@pytest.mark.parametrize("command", READING)
def test_a_command_refuses_a_run_with_an_unknown_feature(kvtrace, tmp_path, command):
    trace = write_core_trace(tmp_path / "trace")
    path = part_path(trace, "runs", RUN, 0)
    facts = pq.read_schema(path).metadata
    features = pa.array([["telepathy"]], pa.list_(pa.string()))
    rows = pa.table({"run_id": [RUN], "required_features": features})
    pq.write_table(rows.replace_schema_metadata(facts), path)

    code, out, err = kvtrace(*asked(command, trace))

    if command in READS_NO_ROWS:
        assert code == 0
        return
    assert code == 2
    assert "requires 'telepathy', which this kvtrace does not know" in out + err


#: Commands that move or copy rows: they count nothing.
READS_NO_ROWS = ("trace recover", "trace compact", "trace redact")
