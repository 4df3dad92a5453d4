"""The compatibility rule, tried on real files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.errors import DamagedFile, NewerFormat, OlderFormat
from kvtrace.schema.layout import part_path
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION, FileFacts, derived_facts, read_facts
from kvtrace.schema.writer import RunWriter, new_run_id


@pytest.fixture
def run(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "scale", "num_warps": 4}])
    writer.seal({"ending": "exit"})
    return tmp_path, writer.run_id


def rewrite(path, change=lambda rows: rows, **facts):
    """Replace a part by changed rows and metadata, as another version would have written it."""
    rows = change(pq.read_table(path, partitioning=None))
    said = read_facts(pq.read_schema(path).metadata, str(path))
    values = {"format_version": said.format_version, "table": said.table, "run_id": said.run_id}
    rows = rows.replace_schema_metadata(FileFacts(**{**values, **facts}).metadata())
    pq.write_table(rows, path)


@pytest.mark.parametrize(
    ("version", "error", "words"),
    [
        ("2.0", NewerFormat, r"has format version 2\.0, and this kvtrace reads up to"),
        ("0.9", OlderFormat, r"format version 0\.9"),
        *((text, DamagedFile, "format version") for text in ("", "1", "1.0.0", "one", "-1.0")),
    ],
)
@pytest.mark.parametrize("table", ["runs", "kernels"])
def test_another_major_version_is_refused_in_one_sentence(run, table, version, error, words):
    out, run_id = run
    rewrite(part_path(out, table, run_id, 0), format_version=version)

    with pytest.raises(error, match=words):
        open_trace(out).table(table)


def test_a_newer_major_version_is_refused_before_its_columns_are_looked_at(run):
    out, run_id = run
    rewrite(
        part_path(out, "runs", run_id, 0),
        lambda rows: pa.table({"something": ["else"]}),
        format_version="2.3",
    )

    with pytest.raises(NewerFormat, match=r"2\.3"):
        _ = open_trace(out).runs


def test_a_file_of_another_program_is_refused(run):
    out, run_id = run
    pq.write_table(pa.table({"kernel_id": [1]}), part_path(out, "kernels", run_id, 0))

    with pytest.raises(DamagedFile, match=r"has no kvtrace\.format_version"):
        open_trace(out).table("kernels")


def test_metadata_has_version_table_run_and_pass():
    facts = derived_facts("findings", "run", "sanitize", {"limit": 3, "all": False}, "0.1.0")

    metadata = facts.metadata()

    assert metadata[b"kvtrace.format_version"] == FORMAT_VERSION.encode()
    assert metadata[b"kvtrace.settings"] == b'{"all": false, "limit": 3}'
    assert read_facts(metadata, "file") == facts
