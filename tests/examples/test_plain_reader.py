"""The reader of one file reads what kvtrace's own reads, of every version, with pyarrow alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.features import FEATURES
from kvtrace.schema.parts import read_part
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.writer import RunWriter
from tests.schema.make_golden import GOLDEN
from tests.schema.rows import plain
from tests.support import readers
from tests.support.tiers import some
from tests.support.tree import ROOT

READER = readers.plain_reader()
SOURCE = Path(str(READER.__file__))
read_artifact, read_runs, read_table = READER.read_artifact, READER.read_runs, READER.read_table
schemas = READER.schemas
TRACES = [
    *sorted(GOLDEN.glob("v*/trace")),
    ROOT / "tests" / "fixtures" / "h200" / "device",
    ROOT / "tests" / "fixtures" / "h200" / "llama_ranks",
]


def test_the_plain_reader_is_short_and_needs_only_pyarrow() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    imported = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert len(text.splitlines()) < 220
    assert {str(name).partition(".")[0] for name in imported} <= {
        "pyarrow",
        *sys.stdlib_module_names,
    }


@pytest.mark.process
def test_importing_the_plain_reader_imports_nothing_of_kvtrace() -> None:
    program = (
        "import sys; from plain_reader import read_runs; "
        "print([name for name in sys.modules if name.startswith('kvtrace.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=SOURCE.parent, capture_output=True, text=True,
        check=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", list(TABLES))
def test_schemas_of_the_plain_reader_are_those_of_the_format(name: str) -> None:
    assert schemas()[name].equals(TABLES[name].schema)


@pytest.mark.parametrize("out", some(TRACES, 4), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_plain_reader_reads_every_table_as_kvtrace_does(out: Path) -> None:
    trace = open_trace(out)
    assert [run["run_id"] for run in read_runs(out, FEATURES)] == list(trace.run_ids)
    for name in TABLES:
        assert plain(read_table(out, name)) == plain(trace.table(name)), name


def test_the_plain_reader_finds_artifacts_by_hash() -> None:
    out = TRACES[-1]
    hashes = read_table(out, "artifacts", columns=["sha256"])["sha256"].to_pylist()[:5]
    assert hashes
    for sha256 in hashes:
        assert read_artifact(out, sha256) == open_trace(out).artifact(sha256)
    assert read_artifact(out, "0" * 64) is None


def test_the_plain_reader_reads_the_journal_of_a_killed_process(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, "20260102-030405-000-0000000b")
    for number in range(3):
        rows = {"mark_id": [number], "name": ["step"], "begin": [number], "end": [number + 1]}
        writer.append("marks", rows)
        writer.flush()
    writer.close()
    (segment,) = (tmp_path / ".journal").rglob("marks-*.arrows")
    segment.write_bytes(segment.read_bytes()[:-3])
    assert read_table(tmp_path, "marks")["mark_id"].to_pylist() == [0, 1]


def test_plain_reader_refuses_a_newer_major_version(tmp_path: Path) -> None:
    (part,) = (GOLDEN / "v1.0" / "trace" / "marks").rglob("*.parquet")
    rows = pq.read_table(part, partitioning=None)
    metadata = {**rows.schema.metadata, b"kvtrace.format_version": b"2.0"}
    folder = tmp_path / "marks" / part.parent.name
    folder.mkdir(parents=True)
    pq.write_table(rows.replace_schema_metadata(metadata), folder / part.name)
    with pytest.raises(ValueError, match=r"2\.0"):
        read_table(tmp_path, "marks", part.parent.name.removeprefix("run="))


def test_the_plain_reader_refuses_a_part_without_a_required_column(tmp_path: Path) -> None:
    run = "20270101-000000-000-00000000"
    folder = tmp_path / "launches" / f"run={run}"
    folder.mkdir(parents=True)
    rows = pa.table({"seq": pa.array([0], pa.int64())})
    metadata = captured_facts("launches", run).metadata()
    pq.write_table(rows.replace_schema_metadata(metadata), folder / "part-00000.parquet")
    sentence = r"has no column call_id, which each file of launches needs; write it again"
    with pytest.raises(ValueError, match=sentence):
        read_table(tmp_path, "launches", run)
    with pytest.raises(DamagedFile, match=sentence):
        read_part(folder / "part-00000.parquet", TABLES["launches"], ["seq"])


def test_the_plain_reader_refuses_a_run_with_a_feature_that_its_caller_does_not_count(tmp_path):
    writer = RunWriter(tmp_path, "20270101-000000-000-00000000")
    writer.append("launches", {"seq": [0, 4], "call_id": [0, 0], "weight": [1, 4]})
    writer.seal({"ending": "exit"})

    with pytest.raises(ValueError, match="requires weights, unknown here"):
        read_runs(tmp_path)
    assert [run["ending"] for run in read_runs(tmp_path, ["weights", "trials"])] == ["exit"]
