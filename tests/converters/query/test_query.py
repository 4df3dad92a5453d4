"""SQL over a trace: every table, wherever its rows lie, and nothing else in reach."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.converters.query.query import BadQuery, connect, query
from kvtrace.converters.query.query_output import csv_lines, json_lines, table_lines
from kvtrace.figures.scans import _identifier
from kvtrace.figures.views import VIEWS
from kvtrace.schema.errors import BadSetting, DamagedFile
from kvtrace.schema.layout import run_folder
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import derived_facts
from tests.converters.written_trace import EPOCH, SCALE, Op, add_ops, write_trace
from tests.support.thorough import usually


def ask(side, text):
    """Ask twice: DuckDB opens the files that a plain query needs, and none where all may come."""
    with connect(side.trace, side.runs) as database:
        found = query(database, text)[1]
    with connect(side.trace, side.runs, text) as database:
        assert sorted(query(database, text)[1], key=repr) == sorted(found, key=repr)
    return found


def test_every_table_has_its_columns_and_run(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    with connect(side.trace, side.runs) as database:
        for name, table in TABLES.items():
            names, rows = query(database, f'SELECT * FROM "{name}"')
            assert names == (*(column.name for column in table.columns), "run")
            assert len(rows) == side.trace.table(name, side.runs).num_rows


def test_names_of_device_functions_are_shortened_and_demangled(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    assert ask(
        side, "SELECT short_name(s), full_name(s) FROM (SELECT '_ZN2at4fillIfEEvPT_' s)"
    ) == [("fill<float>", "void at::fill<float>(float*)")]
    assert ask(side, "SELECT short_name(NULL), full_name(NULL)") == [(None, None)]


@pytest.mark.parametrize("seal", [True, False])
def test_queries_of_sealed_and_journaled_runs_are_equal(tmp_path, seal):
    side = write_trace(tmp_path, [SCALE], seal=seal)
    assert ask(side, "SELECT kernel, count(*), sum(host_ns) FROM launched GROUP BY ALL") == [
        ("scale", 4, 50_000)
    ]
    assert ask(side, "SELECT max(host_ns(enter, exit)) FROM launches") == [(20_000,)]
    assert ask(side, "SELECT DISTINCT run FROM launches") == [(side.runs[0].run_id,)]


def test_sealed_and_journalled_runs_together(tmp_path):
    write_trace(tmp_path, [SCALE], run_id="r1")
    side = write_trace(tmp_path, [SCALE], run_id="r2", seal=False)
    with connect(side.trace, side.trace.runs) as database:
        found = query(database, "SELECT run, count(*) FROM launches GROUP BY run ORDER BY run")
    assert found == (("run", "count_star()"), [("r1", 4), ("r2", 4)])


def test_derived_rows_can_be_queried_and_stacks_are_stored_once(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    add_ops(side, [Op(0, 1, "load", 12, {"bytes": 4}), Op(0, 2, "store", 12, {"bytes": 8})])
    assert ask(side, "SELECT sum(bytes) FROM ops JOIN stacks USING (run, stack_id)") == [(12,)]


def test_points_in_time_keep_their_nanoseconds(tmp_path):
    side = write_trace(tmp_path, [SCALE], start=EPOCH + 123)
    assert ask(side, "SELECT min(enter) FROM launches") == [("2026-01-02T03:04:05.000000123Z",)]


def test_a_directory_whose_name_is_a_pattern(tmp_path):
    side = write_trace(tmp_path / "out[1]*", [SCALE])
    assert ask(side, "SELECT count(*) FROM launches") == [(4,)]


def test_a_directory_with_a_quote(tmp_path):
    side = write_trace(tmp_path / "it's", [SCALE])
    assert ask(side, "SELECT count(*) FROM launches") == [(4,)]


@pytest.fixture(scope="module")
def in_reach(tmp_path_factory):
    """A trace, and a connection with all of its tables."""
    side = write_trace(tmp_path_factory.mktemp("reach") / "t", [SCALE])
    with connect(side.trace, side.runs) as database:
        yield side, database


@pytest.mark.parametrize(
    "text",
    [
        "COPY launches TO 'x.csv'",
        "COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{part}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '.tmp/x.parquet'",
        "SELECT * FROM read_parquet('{part}')",
        "SELECT * FROM '{part}'",
        "SELECT * FROM (SELECT * FROM glob('*'))",
        "COPY (PIVOT launches ON phase USING count(*)) TO '{part}'",
        "EXPLAIN ANALYZE COPY (PIVOT launches ON phase USING count(*)) TO '{part}'",
        "WITH l AS (INSERT INTO launches VALUES (1) RETURNING *) SELECT * FROM l",
        "FROM query('COPY (SELECT 1) TO ''{part}'' ')",
        "EXPLAIN SELECT * FROM read_parquet('{part}')",
        "EXPLAIN /* */ ANALYZE COPY (SELECT 1) TO '{part}'",
        "SELECT * FROM side",
        "SELECT * FROM read_csv('/etc/passwd')",
        "ATTACH 'x.db'",
        "SET lock_configuration = false",
        "CREATE TABLE t AS SELECT 1",
        "INSERT INTO ops SELECT * FROM ops",
    ],
)
def test_queries_cannot_read_files_outside_the_trace(in_reach, tmp_path, monkeypatch, text):
    side, of_all = in_reach
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tmp").mkdir()  # DuckDB's own folder for temporary files
    part = next((side.trace.path / "launches").rglob("*.parquet"))
    before = part.read_bytes()
    text = text.replace("{part}", str(part))
    with pytest.raises(BadQuery):
        query(of_all, text)
    for asked in (text, "SELECT * FROM launches")[: usually(1, thorough=2)]:
        with connect(side.trace, side.runs, asked) as database, pytest.raises(BadQuery):
            query(database, text)
    assert part.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".tmp"]
    assert not list((tmp_path / ".tmp").iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM launches",
        "FROM launched SELECT count(*)",
        "WITH l AS (SELECT * FROM launched) SELECT count(*) FROM l, range(1)",
        "SELECT CAST(sum(launches) AS BIGINT) FROM call_sums",
        "SELECT count(*) FROM launches JOIN calls USING (run, call_id)",
        "SELECT CAST(sum(s.launches) AS BIGINT) FROM phase_sums s JOIN calls USING (run, call_id)",
        "SELECT count(*) FROM Launches",
        "WITH launches AS (SELECT * FROM launches) SELECT count(*) FROM launches",
        "WITH Own AS (SELECT run FROM launches) SELECT count(*) FROM own JOIN calls USING (run)"
        " WHERE call_id = 0",
        "SELECT 4",
        "SELECT max(range) FROM range(5)",
    ],
)
def test_unused_tables_are_not_opened(tmp_path, text):
    side = write_trace(tmp_path, [SCALE])
    add_ops(side, [Op(0, 1, "load", 12, {"bytes": 4})])
    for part in (*(tmp_path / "ops").rglob("*.parquet"), *(tmp_path / "stacks").rglob("*.parquet")):
        part.write_bytes(b"no Parquet")
    with connect(side.trace, side.runs, text) as database:
        assert query(database, text)[1] == [(4,)]
    with pytest.raises(DamagedFile):
        connect(side.trace, side.runs, "SELECT count(*) FROM ops")


def test_statements_other_than_select_run_without_file_access(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    assert ask(side, "PIVOT launches ON phase USING count(*) GROUP BY run")[0][1] == 4
    assert ask(side, "DESCRIBE launched")
    with connect(side.trace, side.runs, "EXPLAIN FROM launches") as database:
        assert query(database, "EXPLAIN FROM launches")[1]
    with (
        connect(side.trace, side.runs, "SELECT * FROM launches") as database,
        pytest.raises(BadQuery, match="another query"),
    ):
        query(database, "PIVOT launches ON phase USING count(*)")


def test_a_relative_directory_and_a_run_whose_name_is_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    side = write_trace(Path("out"), [SCALE], run_id="0012")
    assert ask(side, "SELECT run, count(*) FROM launches GROUP BY run") == [("0012", 4)]


@pytest.mark.costly("sorts more than fits into memory")
def test_memory_is_limited_and_a_temporary_folder_is_used_beyond_the_limit(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE])
    text = "SELECT count(*) FROM (SELECT DISTINCT hash(range) AS h FROM range(3000000)) ORDER BY 1"
    with (
        connect(side.trace, side.runs, text, memory="30MB") as database,
        pytest.raises(BadQuery, match=r"[Mm]emory"),
    ):
        query(database, text)
    folder = tmp_path / "temporary"
    text = "SELECT count(*) FROM (SELECT range FROM range(8000000) ORDER BY hash(range) OFFSET 1)"
    with connect(side.trace, side.runs, text, memory="60MB", temporary=folder) as database:
        assert query(database, text)[1] == [(7_999_999,)]
    with pytest.raises(BadSetting, match="2GB"):
        connect(side.trace, side.runs, text, memory="much")


@pytest.mark.parametrize(
    "text",
    [
        "SHOW TABLES",
        "SELECT name FROM (SHOW TABLES)",
        "SELECT table_name FROM information_schema.tables",
        "SELECT table_name FROM duckdb_columns(), launches WHERE NOT internal"
        " UNION SELECT table_name FROM duckdb_columns() WHERE NOT internal",
    ],
)
def test_only_the_tables_and_the_views_are_listed(tmp_path, text):
    side = write_trace(tmp_path, [SCALE])
    assert {name for (name,) in ask(side, text)} == {*TABLES, *VIEWS}


def test_column_names_are_never_run_as_sql(tmp_path):
    """A trace comes from other people, and a Parquet file's columns may have any name."""
    side = write_trace(tmp_path / "t", [SCALE])
    target = tmp_path / "written"
    name = f"""x" FROM (SELECT 1 AS "x"); COPY (SELECT 1) TO '{target}'; --"""
    definition = {
        "row": "a row",
        "columns": [{"name": name, "meaning": "", "unit": "", "key": False}],
        "sort": [],
    }
    rows = pa.table({name: [1]})
    facts = derived_facts("client_hostile", side.runs[0].run_id, "hostile", {}, "1").metadata()
    metadata = facts | {b"kvtrace.table_definition": json.dumps(definition).encode()}
    folder = run_folder(tmp_path / "t", "client_hostile", side.runs[0].run_id)
    folder.mkdir(parents=True)
    pq.write_table(rows.replace_schema_metadata(metadata), folder / "part-hostile-00000.parquet")
    with pytest.raises(DamagedFile, match="cannot be a column"):
        ask(side, "SELECT 1")
    assert not target.exists()
    assert _identifier(name) == '"' + name.replace('"', '""') + '"'


def test_errors_are_one_sentence(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    with pytest.raises(BadQuery, match="nowhere") as caught:
        ask(side, "SELECT *\nFROM nowhere")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, duckdb.Error)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT exit - enter FROM launches", "host_ns(enter, exit)"),
        ("SELECT end FROM gpu_kernels", '"end"'),
        ("SELECT order FROM graph_ops", '"order"'),
    ],
)
def test_errors_about_names_and_types_have_hints(tmp_path, text, hint):
    side = write_trace(tmp_path, [SCALE])
    with pytest.raises(BadQuery) as caught:
        ask(side, text)
    assert hint in str(caught.value)


ROWS = [(1, "a,b", None, [1, {"k": b"\x00"}], 1.5), (20, 'q"', "x\x1b", [], float("nan"))]
NAMES = ("number", "text", "null", "nested", "share")


def test_json_output_is_valid_json():
    rows = json.loads("\n".join(json_lines(NAMES, ROWS)))["rows"]
    assert rows[0] == {
        "number": 1, "text": "a,b", "null": None, "nested": [1, {"k": "AA=="}], "share": 1.5,
    }  # fmt: skip
    assert rows[1]["share"] is None
    assert json.loads("\n".join(json_lines(NAMES, [])))["rows"] == []


def test_csv_output_is_valid_csv():
    (text,) = csv_lines(NAMES, ROWS)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == list(NAMES)
    assert rows[1] == ["1", "a,b", "", '[1, {"k": "AA=="}]', "1.5"]
    assert rows[2][1] == 'q"'


def test_a_table_is_aligned_and_printable():
    lines = table_lines(NAMES, ROWS)
    assert lines[2].startswith("     1  a,b ")
    assert lines[3].startswith('    20  q"  ')
    assert "x\\x1b" in lines[3]
    assert lines[-1] == "(2 rows)"
    assert table_lines(NAMES, [])[-1] == "(0 rows)"


@pytest.mark.parametrize(("width", "cell"), [(140, 60), (80, 52), (20, 16)])
def test_a_table_on_a_terminal_shortens_its_widest_cells_until_it_fits(width, cell):
    lines = table_lines(("column", "type", "null"), [("a" * 20, "STRUCT" * 40, "YES")], width)
    assert len(lines[2]) <= max(width, 16 + 16 + 2 * 2 + 4)
    assert len(lines[2].split("  ")[1]) == cell


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("table", "n\n-\n4\n(1 row)\n"),
        ("json", '{"schema": "sql", "version": 1, "rows": [\n    {"n": 4}\n]}\n'),
        ("csv", "n\n4\n"),
    ],
)
def test_the_command_line(tmp_path, capsys, form, expected):
    write_trace(tmp_path, [SCALE])
    arguments = ["sql", str(tmp_path), "SELECT count(*) AS n FROM launches", "--format", form]
    assert main(arguments) == 0
    assert capsys.readouterr().out == expected


def test_json_option_prints_json_and_excludes_the_format_option(tmp_path, capsys):
    write_trace(tmp_path, [SCALE])
    arguments = ["sql", str(tmp_path), "SELECT count(*) AS n FROM launches", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"n": 4}]
    assert main([*arguments, "--format", "csv"]) == 2
    assert "cannot be combined" in capsys.readouterr().err


def test_the_statement_may_come_from_standard_input(tmp_path, capsys, monkeypatch):
    write_trace(tmp_path, [SCALE])
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 7 AS seven"))
    assert main(["sql", str(tmp_path), "-", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "seven\n7\n"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_rules_of_a_table_fit_the_terminal_though_cells_that_nearly_agree_are_whole(width):
    cells = [("x" * 300 + digit + "y" * 300, 1) for digit in "12"]
    lines = table_lines(("options", "n"), cells, width)
    assert lines[1].split() == ["-" * (width - 2), "-"]
    assert all(cell[0] in lines[2 + n] for n, cell in enumerate(cells))


@pytest.mark.parametrize(
    "text",
    [
        "EXPORT DATABASE '{}'",
        "EXPLAIN EXPORT DATABASE '{}'",
        "/* a comment */ export database '{}' (FORMAT parquet)",
        "EXPLAIN COPY (SELECT 1) TO '{}'",
        "COPY (PIVOT kernels ON name) TO '{}'",
        "ATTACH '{}' AS other",
    ],
)
def test_refused_statement_leaves_nothing(tmp_path, text):
    side = write_trace(tmp_path / "trace", [SCALE])
    target = tmp_path / "made"
    for given in (text.format(target), None):
        with (
            pytest.raises((BadQuery, duckdb.Error)),
            connect(side.trace, side.runs, given) as database,
        ):
            query(database, text.format(target))
    assert not target.exists()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM range(100000000000)",
        "SELECT list(range) FROM range(100000000000)",
        "SELECT repeat('x', 1000000) FROM range(100000000000)",
    ],
)
def test_memory_of_a_statement_and_its_result_is_bounded(tmp_path, text):
    side = write_trace(tmp_path, [SCALE])
    with connect(side.trace, side.runs, text) as database:
        assert query(database, "SELECT current_setting('memory_limit')")[1] == [("3.7 GiB",)]
    with connect(side.trace, side.runs, text, memory="50MB") as database:
        with pytest.raises(BadQuery, match=r"47\.6 MiB|in memory"):
            query(database, text)
        assert query(database, "SELECT count(*) FROM range(1000000)")[1] == [(1_000_000,)]
