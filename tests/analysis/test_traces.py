"""`kvtrace.open` and `kvtrace.diff` give what the commands print, and refuse with their words."""

import json
import pickle
import subprocess
import sys

import pytest

import kvtrace
from kvtrace.cli import main
from kvtrace.converters.profile.one_table import TableRow
from kvtrace.schema.errors import BadSetting, EmptyTrace, KvtraceError, TraceNotFound, UnknownRun
from kvtrace.schema.trace import open_trace
from tests.support.replacing import replace


def output_of(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("attribute", "table"),
    [
        ("runs", "runs"),
        ("kernels", "kernels"),
        ("calls", "calls"),
        ("launches", "launches"),
        ("executions", "gpu_kernels"),
        ("findings", "findings"),
    ],
)
def test_tables_are_those_of_the_trace(copied, attribute, table):
    path = copied("device")
    expected = open_trace(path).table(table)

    rows = getattr(kvtrace.open(path), attribute)

    assert rows.arrow.equals(expected)
    assert len(rows) == expected.num_rows
    assert table == "findings" or len(rows) > 0


def test_sql_returns_the_rows_that_the_command_prints_with_typed_times(copied, capsys):
    path = copied("device")
    statement = 'SELECT seq, kernel, "enter" FROM launched ORDER BY seq LIMIT 3'

    rows = kvtrace.open(path).sql(statement)

    printed_rows = json.loads(output_of(capsys, "sql", path, statement, "--format", "json"))["rows"]
    assert rows.arrow["kernel"].to_pylist() == [row["kernel"] for row in printed_rows]
    assert str(rows.arrow.schema.field("enter").type).startswith("timestamp[")
    assert list(rows) == printed_rows
    assert [row["seq"] for row in rows] == [0, 1, 2]


@pytest.mark.costly("commands beside results; each result stays by day")
@pytest.mark.parametrize(("command", "options"), [("info", ()), ("profile", ("--no-replay",))])
def test_results_print_and_serialize_as_the_command_does(
    copied, capsys, monkeypatch, command, options
):
    monkeypatch.setenv("COLUMNS", "80")
    path = copied("device")

    result = getattr(kvtrace.open(path), command)()

    assert repr(result) == output_of(capsys, command, path, *options).rstrip("\n")
    assert json.loads(json.dumps(result.to_json())) == json.loads(
        output_of(capsys, command, path, "--json", *options)
    )
    assert len(result) == result.arrow.num_rows > 0


LONG = pytest.param(
    "llama_steady", marks=pytest.mark.costly("a run of 17,000 launches; the others stay by day")
)


@pytest.mark.parametrize("name", [LONG, "train"])
def test_the_first_row_of_a_profile_is_the_first_of_its_printed_table(copied, name):
    profile = kvtrace.open(copied(name)).profile()

    lines = repr(profile).splitlines()
    heading = next(i for i, line in enumerate(lines) if line.startswith("kernel  "))
    assert profile[0].name.startswith(lines[heading + 1].split()[0])
    assert profile[0].taken_ns == max(row.taken_ns for row in profile)
    assert profile[0].name in repr(profile[0])
    assert profile.df("arrow")["name"].to_pylist() == [row.name for row in profile]


def test_rows_of_a_result_are_its_dataclasses(copied):
    trace = kvtrace.open(copied("train"))
    profile, info = trace.profile(), trace.info()

    assert list(info) == list(info.data.runs)
    assert info[0] == info.data.runs[0]
    assert [row.kernel for row in profile] == list(profile.data.kernels)
    assert type(pickle.loads(pickle.dumps(profile[0]))) is TableRow
    assert replace(profile[0], name="x").name == "x"
    assert repr(profile[1:3]) == f"{profile[1]!r}\n\n{profile[2]!r}"
    assert profile[1:3].df("arrow").num_rows == 2


def test_sanitize_finds_the_defect_of_a_program_and_fills_the_table(program, capsys):
    trace = kvtrace.open(program)
    assert "proven" not in trace.findings.arrow["verdict"].to_pylist()

    result = trace.sanitize()

    (defect,) = [finding for finding in result.data.listed if finding.is_defect]
    assert (defect.rule, defect.kernel, defect.access) == ("out-of-bounds", "double", "load")
    assert result.data.failures() > 0
    assert "error[out-of-bounds]" in repr(result)
    assert result.arrow.num_rows == len(result) == len(result.data.listed)
    assert "out-of-bounds" in result.arrow["rule"].to_pylist()
    assert "proven" in trace.findings.arrow["verdict"].to_pylist()
    assert json.loads(json.dumps(result.to_json())) == json.loads(
        output_of(capsys, "sanitize", program, "--json", code=1)
    )


def test_sanitize_judges_by_the_named_rules(program, monkeypatch):
    trace = kvtrace.open(program)

    assert not [finding for finding in trace.sanitize("race").data.listed if finding.is_defect]
    assert "race" in {row["rule"] for row in trace.findings}

    monkeypatch.setenv("KVTRACE_RULES", "out-of-bounds")
    trace.sanitize()

    assert {row["rule"] for row in trace.findings} == {"out-of-bounds"}


def test_a_result_without_entries_has_the_same_columns(copied):
    result = kvtrace.open(copied("device")).sanitize()

    assert len(result) == 0
    assert {"rule", "file", "line", "severity"} <= set(result.arrow.schema.names)


@pytest.mark.costly("evaluates a trace; figures of a profile stay by day")
def test_replay_fills_derived_figures_of_the_profile(copied):
    trace = kvtrace.open(copied("device"))
    assert trace.profile().data.replayed is False

    (outcome,) = trace.replay()

    assert (outcome.calls, outcome.failures) == (13, ())
    assert trace.profile().data.replayed is True
    assert len(trace.table("ops")) > 0


@pytest.mark.costly("every pass of a trace; each alone stays by day")
def test_the_report_lists_passes_that_ran_first(copied, tmp_path):
    page = tmp_path / "report.html"

    written = kvtrace.open(copied("device")).report(page)

    assert written.files == (page,)
    assert repr(written).startswith(f"wrote {page} (")
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert any("analyzed 13 unique calls in" in note for note in written.notes)


def test_convert_writes_the_same_file_as_the_command(copied, tmp_path, capsys):
    path = copied("device")
    output_of(capsys, "convert", "csv", path, "--set", "table=launches", "-o", tmp_path / "a.csv")

    kvtrace.open(path).convert("csv", tmp_path / "b.csv", table="launches")

    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


@pytest.mark.costly("four comparisons; those of the command stay by day")
def test_diff_accepts_directories_and_opened_traces(copied, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    before, after = copied("device"), copied("ranks")

    change = kvtrace.diff(before, kvtrace.open(after), replay=False)

    assert repr(change) == output_of(capsys, "diff", before, after, "--no-replay").rstrip("\n")
    assert not change.data.empty
    assert change.arrow["kernel"].to_pylist() == [row.kernel for row in change.data.headline]
    assert kvtrace.diff(before, before, replay=False).data.empty


def test_open_selects_runs_as_the_command_does(copied):
    path = copied("ranks")
    every = open_trace(path).run_ids

    assert kvtrace.open(path).run_ids == every
    chosen = kvtrace.open(path, run=every[0])

    assert chosen.run_ids == kvtrace.open(f"{path}/{every[0]}").run_ids == every[:1]
    assert chosen.runs.arrow["run_id"].to_pylist() == [every[0]]
    assert set(chosen.sql("SELECT DISTINCT run FROM launches").arrow["run"].to_pylist()) == {
        every[0]
    }
    assert f"1 run ({len(every) - 1} more in the directory)" in repr(chosen)


@pytest.mark.parametrize(
    ("arguments", "do", "error"),
    [
        (["info", "nowhere"], lambda: kvtrace.open("nowhere"), TraceNotFound),
        (["info", "empty"], lambda: kvtrace.open("empty"), EmptyTrace),
        (["info", "device", "--run", "x"], lambda: kvtrace.open("device", run="x"), UnknownRun),
        (["diff", "device", "nowhere"], lambda: kvtrace.diff("device", "nowhere"), TraceNotFound),
        (["sql", "device", "SELEC"], lambda: kvtrace.open("device").sql("SELEC"), KvtraceError),
        (
            ["sanitize", "device", "--rule", "x"],
            lambda: kvtrace.open("device").sanitize("x"),
            BadSetting,
        ),
        (
            ["replay", "device", "--client", "x"],
            lambda: kvtrace.open("device").replay("x"),
            BadSetting,
        ),
        (["convert", "x", "device"], lambda: kvtrace.open("device").convert("x"), BadSetting),
        (
            ["convert", "csv", "device", "--set", "x-y=1"],
            lambda: kvtrace.open("device").convert("csv", x_y=1),
            BadSetting,
        ),
    ],
)
def test_errors_have_the_same_message_as_the_command(
    copied, tmp_path, monkeypatch, capsys, arguments, do, error
):
    copied("device")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 2
    stderr = capsys.readouterr().err
    with pytest.raises(error) as raised:
        do()

    assert isinstance(raised.value, KvtraceError)
    assert stderr == f"kvtrace: {' '.join(str(raised.value).split())}\n"


@pytest.mark.process
def test_neither_the_package_nor_capture_imports_readers(tmp_path):
    program = (
        "import sys, kvtrace\n"
        "assert not [name for name in sys.modules if name.startswith('kvtrace.')]\n"
        "kvtrace.start(sys.argv[1]); kvtrace.stop()\n"
        "reading = ('kvtrace.analysis', 'kvtrace.converters', 'kvtrace.clients', 'duckdb')\n"
        "print([name for name in sys.modules if name.startswith(reading)])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        capture_output=True, text=True,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.process
def test_a_program_that_reads_a_trace_prints_nothing_else(copied):
    """What is kept alive by others until Python ends has DuckDB complain of it."""
    program = (
        "import sys, kvtrace\n"
        "trace = kvtrace.open(sys.argv[1])\n"
        "found = trace.sql('SELECT 1 AS n'), trace.profile(), trace.launches[0]\n"
        "repr(found[1]), repr(trace)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(copied("device"))],
        capture_output=True, text=True,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
