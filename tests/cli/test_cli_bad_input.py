"""Whatever a command is given, it answers in one sentence and exits with 2: never a traceback."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.reading_commands import COMMANDS, READING, asked, part_of
from tests.support.tiers import some

ROOT = Path(__file__).parents[2]

#: `validate` looks for damage, so that is what it finds; `recover` and `top` touch no sealed file,
#: `compact` reads only those that it merges, and `prune` only rows of `runs`.
JUDGES_DAMAGE = (
    "trace validate", "trace recover", "trace compact", "top", "trace prune",
)  # fmt: skip


#: What is harmed for each command: a table that all read, and one that most read.
DAMAGED = list(product([c for c in READING if c not in JUDGES_DAMAGE], ["runs", "kernels"]))


def assert_one_sentence(code, out, err):
    assert code == 2, (out, err)
    assert err.startswith("kvtrace: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "KVTRACE_DEBUG" not in err, "no command may fail on what it did not expect"
    assert not out


def rewrite_as_version(part, version):
    rows = pq.read_table(part)
    metadata = {**rows.schema.metadata, b"kvtrace.format_version": version.encode()}
    pq.write_table(rows.replace_schema_metadata(metadata), part)


#: They run programs; what they are given is tried in tests/addons/ci.
RUNNING = {"run", "gate", "confirm"}
#: What they are given is tried in tests/addons/ci, too.
OF_BASELINES = {"gate save", "gate list", "gate rm"}
#: They read no trace; they are tried in tests of their own.
WITHOUT_TRACE = {"mcp", "doctor"}


def test_every_command_is_covered_by_these_tests():
    assert {*READING, *RUNNING, *WITHOUT_TRACE, *OF_BASELINES} >= set(COMMANDS)


@pytest.mark.parametrize("command", READING)
def test_a_missing_directory_is_reported(kvtrace, tmp_path, command):
    code, out, err = kvtrace(*asked(command, tmp_path / "nowhere"))
    assert_one_sentence(code, out, err)
    assert "nowhere" in err


@pytest.mark.parametrize("command", READING)
def test_a_file_instead_of_a_directory(kvtrace, tmp_path, command):
    (tmp_path / "file").write_text("not a trace")
    code, out, err = kvtrace(*asked(command, tmp_path / "file"))
    assert_one_sentence(code, out, err)
    assert "file" in err


@pytest.mark.parametrize("command", READING)
def test_an_empty_directory_is_reported(kvtrace, tmp_path, command):
    (tmp_path / "empty").mkdir()
    assert_one_sentence(*kvtrace(*asked(command, tmp_path / "empty")))


@pytest.mark.parametrize(
    "command", [c for c in READING if c not in (*JUDGES_DAMAGE, "trace redact")]
)
@pytest.mark.parametrize("run", ["20990101", "@ffffff"])
def test_an_unknown_run_is_reported(kvtrace, sound_trace, command, run):
    if command == "diff":
        arguments = ("diff", sound_trace, f"{sound_trace}/{run}")
    elif command == "import":
        arguments = asked(command, f"{sound_trace}/{run}")
    else:
        arguments = (*asked(command, sound_trace), "--run", run)
    code, out, err = kvtrace(*arguments)
    assert_one_sentence(code, out, err)
    assert run.removeprefix("@") in err


@pytest.mark.parametrize("case", some(DAMAGED, 3), ids="-".join)
def test_a_truncated_parquet_file(kvtrace, own_trace, case):
    command, table = case
    part = part_of(own_trace, table)
    part.write_bytes(part.read_bytes()[:-20])
    code, out, err = kvtrace(*asked(command, own_trace))
    assert_one_sentence(code, out, err)
    assert part.name in err
    assert table in err


@pytest.mark.parametrize("case", some(DAMAGED, 3), ids="-".join)
def test_a_file_of_major_version_2(kvtrace, own_trace, case):
    command, table = case
    rewrite_as_version(part_of(own_trace, table), "2.0")
    code, out, err = kvtrace(*asked(command, own_trace))
    assert_one_sentence(code, out, err)
    assert "2.0" in err
    assert "newer" in err


@pytest.mark.parametrize("table", ["runs", "kernels", "launches", "artifacts"])
def test_validate_finds_a_truncated_file(kvtrace, own_trace, table):
    part = part_of(own_trace, table)
    part.write_bytes(part.read_bytes()[:-20])
    code, out, err = kvtrace("trace", "validate", own_trace)
    assert code == 2
    assert part.name in out + err
    assert "Traceback" not in err


def test_validate_finds_a_newer_version(kvtrace, own_trace):
    rewrite_as_version(part_of(own_trace, "calls"), "2.0")
    code, out, err = kvtrace("trace", "validate", own_trace)
    assert code == 2
    assert "2.0" in out + err


def test_recover_leaves_damaged_sealed_files_alone(kvtrace, own_trace):
    part = part_of(own_trace, "kernels")
    part.write_bytes(part.read_bytes()[:-20])
    before = part.read_bytes()
    code, _, err = kvtrace("trace", "recover", own_trace)
    assert code == 0
    assert "Traceback" not in err
    assert part.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("info", "TRACE"),
        ("info", "TRACE", "--recompiles", "--all"),
        ("profile", "TRACE", "--calls", "--full"),
        ("diff", "TRACE", "TRACE", "--full"),
        ("sql", "TRACE", "SELECT name FROM kernels UNION ALL SELECT name FROM marks"),
    ],
)
def test_hostile_names_are_printed_escaped(kvtrace, sound_trace, arguments):
    code, out, _ = kvtrace(*(sound_trace if word == "TRACE" else word for word in arguments))
    assert code == 0
    assert [c for c in out if not c.isprintable() and c != "\n"] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_reported(kvtrace, command):
    code, out, err = kvtrace(*command.split(), "--no-such-option")
    assert code == 2
    assert not out
    assert "--no-such-option" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"doctor", "mcp", "gate list"}))
def test_missing_arguments_are_reported(kvtrace, command):
    code, _, err = kvtrace(*command.split())
    assert code == 2
    assert "Traceback" not in err


def test_a_missing_script_is_reported(kvtrace, tmp_path):
    code, out, err = kvtrace("run", tmp_path / "nowhere.py")
    assert_one_sentence(code, out, err)


@pytest.mark.parametrize(
    "statement",
    some([
        "SELEC",
        "",
        "SELECT 1; SELECT 2",
        "SELECT nothing FROM launches",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "DROP VIEW launches",
        "SELECT 'a'::INTEGER",
        "UPDATE EXTENSIONS",
        "SELECT * FROM test_all_types()",
    ], 3),
)  # fmt: skip
def test_invalid_sql_is_reported(kvtrace, sound_trace, tmp_path, statement):
    assert_one_sentence(*kvtrace("sql", sound_trace, statement))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "TRACE", "TRACE", "--json", "--markdown", "-"),
        ("diff", "TRACE", "TRACE", "--time-threshold", "much"),
        ("diff", "TRACE", "TRACE", "--time-threshold", "-5%"),
        ("diff", "TRACE", "TRACE", "--time-threshold", "nan"),
        ("info", "TRACE", "--all", "--run", "2026"),
        ("sanitize", "TRACE", "--json", "--sarif"),
        ("convert", "nonsense", "TRACE"),
    ],
)
def test_invalid_settings_are_reported(kvtrace, sound_trace, arguments):
    assert_one_sentence(*kvtrace(*(sound_trace if word == "TRACE" else word for word in arguments)))


@pytest.mark.smoke
@pytest.mark.process
@pytest.mark.parametrize("command", ["info", "sql", "diff"])
def test_python_m_kvtrace_reports_errors_the_same_way(own_trace, command):
    part = part_of(own_trace, "kernels")
    part.write_bytes(part.read_bytes()[:-20])
    done = subprocess.run(
        [sys.executable, "-m", "kvtrace", *asked(command, own_trace)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
    )
    assert_one_sentence(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO 'TEMP/written.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO 'TEMP/written.csv'",
        "COPY (PIVOT runs ON host) TO 'TEMP/written.csv'",
        "SELECT content FROM read_text('TEMP/secret')",
    ],
)
def test_sql_neither_reads_nor_writes_in_the_folder_for_temporary_files(
    kvtrace, sound_trace, tmp_path, statement
):
    folder = tmp_path / "temp"
    folder.mkdir()
    (folder / "secret").write_text("mine")

    code, out, err = kvtrace(
        "sql", sound_trace, statement.replace("TEMP", str(folder)), "--temp", folder
    )

    assert "mine" not in out
    assert_one_sentence(code, out, err)
    assert [path.name for path in folder.iterdir()] == ["secret"]
