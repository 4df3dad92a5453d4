"""Each kind of damage is found, and a good trace has none."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.errors import EmptyTrace, TraceNotFound
from kvtrace.schema.layout import part_path
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.converters.compared_kernels import SCALE
from tests.converters.written_trace import write_trace
from tests.schema.make_golden import SEALED, write_sealed_run


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    out = tmp_path_factory.mktemp("good") / "out"
    write_sealed_run(out)
    return out


@pytest.fixture
def out(good, tmp_path):
    shutil.copytree(good, tmp_path / "out")
    return tmp_path / "out"


def rewrite(path, change, table=None):
    """A part with other rows, and its metadata as it was."""
    rows = pq.read_table(path, partitioning=None)
    metadata = rows.schema.metadata
    pq.write_table(change(rows).replace_schema_metadata(metadata), path)


def part(out, table, pass_name=None):
    return part_path(out, table, SEALED, 0, pass_name)


def texts(out):
    return [problem.text for problem in validate(out)]


def test_valid_trace_has_no_problem(good):
    assert validate(good) == []


def test_a_truncated_file_is_found_and_the_rest_is_still_checked(out):
    for table in ("calls", "kernels"):
        path = part(out, table)
        path.write_bytes(path.read_bytes()[:-9])

    problems = validate(out)

    assert [problem.where for problem in problems] == [
        str(part(out, "kernels")),
        str(part(out, "calls")),
    ]
    assert all("is damaged" in problem.text for problem in problems)


def test_validate_finds_damage_inside_a_column(out):
    path = part(out, "launches")
    damaged = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    damaged[start : start + 40] = b"\xff" * 40
    path.write_bytes(damaged)

    (problem, *_) = validate(out)

    assert problem.where == str(path)


@pytest.mark.parametrize(
    ("table", "change", "says"),
    [
        ("kernels", lambda t: t.drop_columns(["name"]), "column name is missing"),
        (
            "kernels",
            lambda t: t.append_column("color", pa.array(["red"] * len(t))),
            "the format has no column color",
        ),
        (
            "launches",
            lambda t: t.set_column(0, "seq", t.column("seq").cast(pa.int32())),
            "column seq is int32, not int64",
        ),
        (
            "launches",
            lambda t: t.set_column(0, "seq", pa.array([None] * len(t), pa.int64())),
            "the key seq is null",
        ),
        (
            "launches",
            lambda t: t.set_column(1, "call_id", pa.array([77] * len(t))),
            "call_id refers to 1 rows that calls does not have, as 77",
        ),
        (
            "calls",
            lambda t: t.set_column(1, "kernel_id", pa.array([88] * len(t))),
            "kernel_id refers to 1 rows that kernels does not have, as 88",
        ),
        (
            "stacks",
            lambda t: t.slice(1),
            "stack_id refers to 1 rows that stacks does not have, as 0",
        ),
        ("artifacts", lambda t: t.slice(1), "stages refers to 1 rows that artifacts"),
        ("artifacts", lambda t: t.slice(1), "args refers to 1 rows that artifacts"),
        (
            "artifacts",
            lambda t: t.set_column(3, "bytes", t.column("bytes").take(pa.array([1, 0]))),
            "artifact",
        ),
        ("marks", lambda t: pa.concat_tables([t, t]), "2 rows repeat the mark_id"),
    ],
)
def test_validate_finds_rows_that_contradict_the_format(out, table, change, says):
    rewrite(part(out, table), change)

    assert any(says in text for text in texts(out))


def with_null_entries(rows, name):
    """Return rows in which each list of a column has one null."""
    lists = pa.array([[None]] * rows.num_rows, rows.schema.field(name).type)
    return rows.set_column(rows.column_names.index(name), name, lists)


@pytest.mark.costly("every list of every table; rows that contradict the format stay by day")
def test_null_entries_of_lists_are_no_unexpected_error(out):
    found = {}
    for folder in sorted(path for path in out.iterdir() if not path.name.startswith(".")):
        path = part(out, folder.name)
        columns = pq.read_schema(path) if path.exists() else ()
        for name in (c.name for c in columns if pa.types.is_list(c.type)):
            content = path.read_bytes()
            rewrite(path, lambda rows, name=name: with_null_entries(rows, name))
            found[folder.name, name] = texts(out)
            path.write_bytes(content)
    assert len(found) > 4
    assert "args[0] of call 0 is null; each parameter has an entry" in str(found["calls", "args"])
    assert "frames[0] of stack " in str(found["stacks", "frames"])


def test_validate_finds_dangling_references_of_a_derived_table(out):
    open_trace(out).add_derived(
        SEALED, "golden", {"findings": pa.table({"finding_id": ["a"], "call_id": [5]})}
    )

    assert texts(out) == ["call_id refers to 1 rows that calls does not have, as 5"]


def test_validate_finds_a_file_in_the_wrong_folder(out):
    other = new_run_id()
    part_path(out, "calls", other, 0).parent.mkdir(parents=True)
    shutil.copy(part(out, "calls"), part_path(out, "calls", other, 0))
    part(out, "marks").write_bytes(part(out, "messages").read_bytes())
    part(out, "ops", "golden").rename(part(out, "ops", "replay"))

    found = texts(out)

    assert f"its metadata says that it belongs to run {SEALED}" in found
    assert "the trace has no run with this id" in found
    assert any("has rows of messages, not of marks" in text for text in found)
    assert "its metadata says that the pass golden wrote it" in found


def test_validate_reports_a_newer_major_version(out):
    path = part(out, "marks")
    facts = captured_facts("marks", SEALED).metadata() | {b"kvtrace.format_version": b"2.0"}
    rows = pq.read_table(path, partitioning=None).replace_schema_metadata(facts)
    pq.write_table(rows, path)

    (problem, *_) = validate(out)

    assert "format version 2.0" in problem.text


def test_validate_reports_a_killed_run_but_not_a_live_one(tmp_path):
    live = RunWriter(tmp_path, new_run_id())
    assert validate(tmp_path) == []

    dead = RunWriter(tmp_path, new_run_id())
    dead.append_rows("runs", [{"started": 1}])
    dead.flush()

    (problem,) = validate(tmp_path)
    assert dead.run_id in problem.where
    assert "kvtrace trace recover" in problem.text
    live.close()


def test_validate_reports_a_run_whose_row_was_never_put_in_place(out):
    row = part(out, "runs")
    row.rename(row.with_name(f"{row.name}.tmp"))
    assert any("it has no row, so the run is not complete" in text for text in texts(out))


def test_a_core_profile_ignores_what_lies_outside(out):
    rewrite(part(out, "artifacts"), lambda t: t.slice(1))
    rewrite(part(out, "stacks"), lambda t: t.slice(1))
    part(out, "marks").write_bytes(b"no Parquet")
    rewrite(part(out, "launches"), lambda t: t.drop_columns(["addresses"]))

    assert len(texts(out)) > 2
    assert validate(out, "core") == []


def test_a_core_profile_checks_references_between_its_tables(out):
    rewrite(part(out, "calls"), lambda t: t.set_column(1, "kernel_id", pa.array([88] * len(t))))

    (problem,) = validate(out, "core")

    assert "kernel_id refers to 1 rows that kernels does not have" in problem.text


def test_files_of_required_columns_alone_are_valid(out):
    for table in TABLES.values():
        for path in (out / table.name).rglob("*.parquet"):
            rewrite(path, lambda t, names=table.required: t.select(list(names)))

    assert validate(out) == validate(out, "core") == []


def test_strings_may_be_stored_in_any_encoding_of_arrow(out):
    rows = pq.read_table(part(out, "kernels"), partitioning=None)
    schema = TABLES["kernels"].schema
    index = schema.get_field_index("name")
    rewrite(
        part(out, "kernels"),
        lambda t: t.set_column(index, "name", t["name"].cast(pa.string()).cast(pa.large_string())),
    )

    assert validate(out) == []
    assert open_trace(out).table("kernels")["name"].to_pylist() == rows["name"].to_pylist()


def test_rows_that_are_not_in_the_order_of_their_table_are_found(out):
    rewrite(part(out, "launches"), lambda t: t.take(pa.array(range(len(t)))[::-1]))

    assert texts(out) == ["its rows are not in the order of seq"]


def test_a_run_that_requires_an_unknown_feature_cannot_be_read(out):
    features = pa.array([["weights", "telepathy"]], pa.list_(pa.string()))
    index = TABLES["runs"].schema.get_field_index("required_features")
    rewrite(part(out, "runs"), lambda t: t.set_column(index, "required_features", features))

    (problem,) = validate(out)

    assert problem.unreadable
    assert "requires 'telepathy', which this kvtrace does not know" in problem.text


def test_a_row_of_another_run_is_found(out):
    rewrite(part(out, "runs"), lambda t: t.set_column(0, "run_id", pa.array(["another"])))

    assert texts(out) == [f"its row has the run_id another, not {SEALED}"]


def test_validate_command_reports_bad_input_in_one_sentence(tmp_path):
    with pytest.raises(EmptyTrace):
        validate(tmp_path)
    with pytest.raises(TraceNotFound):
        validate(tmp_path / "gone")


def test_parts_with_an_empty_row_group_are_valid_or_said_to_lack_rows(tmp_path):
    write_trace(tmp_path, [SCALE])
    for table in ("launches", "calls", "stacks"):
        for path in (tmp_path / table).rglob("*.parquet"):
            rows = pq.read_table(path).slice(0, 0)
            with pq.ParquetWriter(path, pq.read_schema(path)) as writer:
                writer.write_table(rows)  # as pyarrow writes 0 rows
            assert pq.ParquetFile(path).metadata.num_row_groups == 1
    problems = validate(tmp_path)
    assert all("unexpected" not in problem.text for problem in problems)


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo])
def test_journal_that_is_no_folder_is_a_problem(tmp_path, make):
    write_trace(tmp_path, [SCALE])
    (tmp_path / ".journal").rmdir() if (tmp_path / ".journal").exists() else None
    make(tmp_path / ".journal")
    (problem,) = validate(tmp_path)
    assert "it is no folder" in problem.text
