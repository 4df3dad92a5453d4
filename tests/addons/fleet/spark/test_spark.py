"""Spark's answers over the same files as DuckDB and the reader, locally on two cores."""

from pathlib import Path

import pytest

from kvtrace.addons.fleet.spark import SparkTrace
from kvtrace.converters.profile.profile import profile_of, read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.query.query import BadQuery, connect, query
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.requested_part import WHOLE
from kvtrace.figures.times import times_of_engine
from kvtrace.figures.views import VIEWS
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.addons.fleet.spark.local_spark import MASTER, running_spark, skip_without_spark  # noqa: F401

skip_without_spark()
from kvtrace.addons.fleet.spark.dialect import spark_sql  # noqa: E402 - not without sqlglot

FIXTURE = Path(__file__).parents[3] / "fixtures" / "h200" / "llama_graphs"
EPOCH = 1_767_323_045_000_000_000
KNOWN = {*TABLES, *VIEWS}


def launched(writer, first, count, *, ns):
    rows = [
        {
            "seq": seq, "call_id": seq % 3, "enter": EPOCH + 100 * seq, "thread": 1,
            "exit": EPOCH + 100 * seq + 20 + seq % 7,
            "phase": "autotune" if seq in (4, 5) else "run",
        }
        for seq in range(first, first + count)
    ]  # fmt: skip
    executions = [
        {
            "record": row["seq"], "launch_seq": row["seq"],
            "call_id": None if row["seq"] % 2 else row["call_id"],
            "start": row["enter"] + 30, "end": row["enter"] + 30 + ns + row["call_id"],
        }
        for row in rows
    ]  # fmt: skip
    writer.append_rows("launches", rows)
    writer.append_rows("gpu_kernels", executions)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A trace of four runs in a folder with a blank in its name; the last is not sealed."""
    folder = tmp_path_factory.mktemp("spark") / "several runs"
    for number in range(4):
        writer = RunWriter(folder, f"2026010{number + 1}")
        begin = EPOCH + 100 * 6 + 3
        kernels = [
            {"kernel_id": 0, "name": "matmul", "module": "model", "compile_begin": begin},
            {"kernel_id": 1, "name": "softmax", "module": "model", "origin": "jit"},
        ]
        frames = [{"file": "train.py", "line": 7, "column": 1, "function": "step"}]
        writer.append_rows("stacks", [{"stack_id": 5, "frames": frames}])
        writer.append_rows("kernels", kernels)
        calls = [{"call_id": c, "kernel_id": c % 2, "grid_x": 8, "stack_id": 5} for c in range(3)]
        writer.append_rows("calls", calls)
        launched(writer, 0, 40, ns=1_000 * (number + 1))
        launched(writer, 40, 5, ns=9)
        facts = {"run_id": f"2026010{number + 1}", "group_id": "one", "ending": "exit"}
        if number < 3:
            writer.seal(facts)
        else:
            writer.append_rows("runs", [facts])
            writer.flush()
    return open_trace(folder)


def plain(rows):
    return [tuple(None if v is None else str(v) for v in row) for row in rows]


@pytest.mark.parametrize("name", ["fixture", "several"])
def test_spark_gives_the_same_rows_as_duckdb(name, spark, request):
    trace = open_trace(FIXTURE) if name == "fixture" else request.getfixturevalue("several")
    on_spark = SparkTrace(trace, trace.runs, MASTER)
    called = "SELECT kernel, called_file, called_line, count(*) AS n FROM called GROUP BY ALL"
    with connect(trace, trace.runs) as database:
        for text in ("SELECT * FROM kernel_sums ORDER BY ALL", f"{called} ORDER BY ALL"):
            names, rows = query(database, text)
            spark_names, answered = on_spark.rows(text)
            assert spark_names == names
            assert plain(answered) == plain(rows)
            assert rows
    expected = read_profile(trace, trace.runs, calls=True, part=WHOLE)  # as Spark's sums are
    summed = times_of_engine(on_spark.table)
    profile = profile_of(PartFigures(trace, trace.runs, summed=summed), calls=True)
    ours, theirs = (profile_object(one)["kernels"] for one in (profile, expected))
    for kernel in (*ours, *theirs):
        del kernel["headline"]  # has a share of all that devices did, which is not asked for here
    assert ours == theirs
    assert expected.device_time is not None
    assert any(kernel.measured.device_median_ns for kernel in profile.kernels)
    assert any("GPU time" in line for line in profile_text(profile))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM 'other.parquet'", "SELECT * FROM read_parquet('other.parquet')",
        "SELECT * FROM parquet.`other`", "SELECT * FROM runs, secrets",
        "SELECT reflect('java.lang.System', 'exit') FROM runs", "DROP TABLE runs",
        "CREATE TABLE copied AS SELECT * FROM runs", "SELECT 1; SELECT 2", "SELECT FROM WHERE", "",
        "SELECT host_ns(1) FROM runs", "WITH r AS (SELECT 1) SELECT * FROM db.r",
        "COPY runs TO 'file'", "INSERT INTO runs SELECT * FROM runs",
    ],
)  # fmt: skip
def test_statement_that_does_not_only_read_the_trace_is_refused(text):
    with pytest.raises(BadQuery):
        spark_sql(text, KNOWN)


def test_spark_rows_have_times_as_integers_and_lists_from_one():
    written = spark_sql(
        "SELECT host_ns(l.enter, l.exit), s.frames[1].file FROM Launches l, stacks s", KNOWN
    )
    assert "((l.exit) - (l.enter))" in written
    assert "frames[0].file" in written
