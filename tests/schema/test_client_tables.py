"""Tables that clients bring along: written by a pass, read by everything that reads tables."""

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kvtrace.converters.query.query import connect, query
from kvtrace.schema.client_tables import client_table
from kvtrace.schema.errors import DamagedFile, SchemaMismatch
from kvtrace.schema.layout import part_path
from kvtrace.schema.recovery import recover
from kvtrace.schema.table_types import NAME, Column
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id

CALL = Column("call_id", pa.int64(), "the call", key=True)
SEQ = Column("seq", pa.string(), "a name that the format uses for a number")
WASTE = client_table("waste", "a wasteful load", (CALL, SEQ), sort=("call_id",))


@pytest.fixture
def trace(tmp_path):
    return recorded(tmp_path)


def recorded(out):
    writer = RunWriter(out, new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "scale"}])
    writer.append_rows("calls", [{"call_id": n, "kernel_id": 0} for n in (0, 1)])
    writer.seal({"ending": "exit"})
    return open_trace(out)


def add(trace, table, run_id=None, **columns):
    run_id = run_id or trace.run_ids[-1]
    trace.add_derived(run_id, "waster", {table.name: pa.table(columns)}, {}, [table])
    return run_id


def test_client_table_is_read_in_its_order_with_its_definition(trace):
    run_id = add(trace, WASTE, call_id=[1, 0], seq=["b", "a"])

    rows = trace.table("client_waste").to_pylist()
    definition = trace.definition("client_waste")

    assert rows == [
        {"call_id": 0, "seq": "a", "run": run_id},
        {"call_id": 1, "seq": "b", "run": run_id},
    ]
    assert definition == WASTE
    assert trace.client_tables == ("client_waste",)
    assert trace.passes(run_id) == {"waster": {}}
    assert validate(trace.path) == []


def test_other_parquet_readers_see_the_rows_of_a_client_table(trace):
    run_id = add(trace, WASTE, call_id=[0], seq=["a"])
    files = str(trace.path / "client_waste" / "*" / "*.parquet")

    by_duckdb = duckdb.sql(f"SELECT call_id, seq, run FROM '{files}'").fetchall()
    by_arrow = ds.dataset(trace.path / "client_waste", partitioning="hive").to_table()
    with connect(trace, trace.runs) as database:
        by_sql = query(
            database, "SELECT c.call_id, seq FROM client_waste JOIN calls c USING (run, call_id)"
        )

    assert by_duckdb == [(0, "a", run_id)]
    assert by_arrow.to_pylist() == [{"call_id": 0, "seq": "a", "run": run_id}]
    assert by_sql == (("call_id", "seq"), [(0, "a")])


def test_client_table_is_converted_to_csv_like_other_tables(trace, tmp_path):
    from kvtrace.converters.query.csv import CONVERTER
    from kvtrace.schema.trace import Selection

    add(trace, WASTE, call_id=[0], seq=["a"])
    CONVERTER.convert(Selection(trace, trace.runs), tmp_path / "csv", {})
    text = (tmp_path / "csv" / "client_waste.csv").read_text()
    assert text.splitlines()[1].startswith('0,"a",')


def test_second_run_of_a_client_replaces_or_removes_its_table(trace):
    run_id = add(trace, WASTE, call_id=[0, 1], seq=["a", "b"])
    add(trace, WASTE, call_id=[1], seq=["c"])
    assert trace.table("client_waste")["seq"].to_pylist() == ["c"]

    trace.add_derived(run_id, "waster", {})

    assert trace.client_tables == ()
    with pytest.raises(SchemaMismatch, match="no table 'client_waste'"):
        trace.table("client_waste")


def test_column_added_to_a_client_table_is_null_in_older_runs(trace):
    older = add(trace, WASTE, call_id=[0], seq=["a"])
    newer = recorded(trace.path)
    wider = client_table("waste", "a wasteful load", (CALL, SEQ, Column("lost", NAME, "of what")))
    add(newer, wider, call_id=[1], seq=["b"], lost=["x"])

    rows = newer.table("client_waste").to_pylist()

    assert [row["lost"] for row in rows] == [None, "x"]
    assert next(row["run"] for row in rows) == older


def test_client_column_with_two_types_is_refused_if_both_runs_are_read(trace):
    older = add(trace, WASTE, call_id=[0], seq=["a"])
    newer = recorded(trace.path)
    number = client_table("waste", "a row", (CALL, Column("seq", pa.int32(), "a number")))
    add(newer, number, call_id=[0], seq=pa.array([7], pa.int32()))

    with pytest.raises(SchemaMismatch, match=r"runs differ in client_waste\.seq"):
        newer.table("client_waste")
    assert newer.table("client_waste", [older])["seq"].to_pylist() == ["a"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"call_id": [None], "seq": ["a"]}, "call_id is a key"),
        ({"call_id": [0], "sec": ["a"]}, "no column 'sec'"),
        ({"call_id": ["x"], "seq": ["a"]}, "does not fit"),
    ],
)
def test_rows_that_do_not_fit_a_client_table_are_refused(trace, columns, text):
    with pytest.raises(SchemaMismatch, match=text):
        add(trace, WASTE, **columns)
    assert trace.client_tables == ()


def test_client_table_without_definition_is_refused(trace):
    with pytest.raises(SchemaMismatch, match="no table 'client_waste'"):
        trace.add_derived(trace.run_ids[0], "waster", {"client_waste": pa.table({"call_id": [0]})})


@pytest.mark.parametrize(
    ("name", "columns"),
    [("Waste", (CALL,)), ("../up", (CALL,)), ("waste", ()), ("waste", (CALL, CALL))]
    + [("waste", (Column("run", pa.string(), "taken"),))],
)
def test_invalid_names_of_client_tables_and_columns_are_refused(name, columns):
    with pytest.raises(SchemaMismatch):
        client_table(name, "a row", columns)


def test_validate_checks_references_and_metadata_of_client_tables(trace):
    run_id = add(trace, WASTE, call_id=[5], seq=["a"])
    (problem,) = validate(trace.path)
    assert "call_id refers to 1 rows that calls does not have" in problem.text

    path = part_path(trace.path, "client_waste", run_id, 0, "waster")
    rows = pq.read_table(path, partitioning=None)
    metadata = dict(rows.schema.metadata)
    del metadata[b"kvtrace.table_definition"]
    pq.write_table(rows.replace_schema_metadata(metadata), path)

    assert any("does not say what its columns are" in found.text for found in validate(trace.path))
    with pytest.raises(DamagedFile, match=r"write it with kvtrace\.table_definition"):
        trace.table("client_waste")


def test_recover_completes_a_killed_pass_with_a_client_table(trace):
    run_id = add(trace, WASTE, call_id=[0], seq=["a"])
    folder = part_path(trace.path, "client_waste", run_id, 0).parent
    leaving = folder / ".part-waster-00000.parquet.0123abcd-999999999.tmp"
    leaving.write_bytes(b"half")

    recover(trace.path)

    assert not leaving.exists()
    assert trace.table("client_waste").num_rows == 1
