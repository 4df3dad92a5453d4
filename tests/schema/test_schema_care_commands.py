"""`kvtrace trace recover` and `kvtrace trace validate`, as a user runs them."""

import json

import pytest

from kvtrace.cli import main
from kvtrace.schema.layout import part_path
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.written_runs import add_calls, launches


@pytest.fixture
def dead(tmp_path):
    """A run whose process is not the one that has its id now."""
    writer = RunWriter(tmp_path / "out", new_run_id())
    writer.append_rows("runs", [{"started": 1}])
    add_calls(writer)
    writer.append("launches", launches(0, 10))
    writer.flush()
    writer.close()
    return tmp_path / "out", writer.run_id


def test_validate_reports_a_killed_run_until_recover_seals_it(dead, capsys):
    out, run_id = dead

    assert main(["trace", "validate", str(out)]) == 1
    assert "kvtrace trace recover seals" in capsys.readouterr().out
    assert main(["trace", "recover", str(out)]) == 0
    assert capsys.readouterr().out == f"sealed      {run_id}\n"
    assert main(["trace", "recover", str(out)]) == 0
    assert capsys.readouterr().out == f"nothing to recover in {out}\n"
    assert main(["trace", "validate", str(out)]) == 0
    assert capsys.readouterr().out == f"{out} is fine\n"
    assert open_trace(out).runs[0].ending == "killed"


def test_json_output_of_validate_and_recover_is_complete(dead, capsys):
    out, run_id = dead

    assert main(["trace", "validate", str(out), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert set(problem) == {"where", "text", "unreadable", "warning"}
    assert not problem["unreadable"]
    assert main(["trace", "recover", str(out), "--json"]) == 0
    recovered = {"sealed": [run_id], "left": {}, "notes": []}
    assert json.loads(capsys.readouterr().out) == {"schema": "recover", "version": 1, **recovered}
    assert main(["trace", "validate", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []


def test_validate_names_a_damaged_file_and_the_remedy(dead, capsys):
    out, run_id = dead
    main(["trace", "recover", str(out)])
    path = part_path(out, "launches", run_id, 0)
    path.write_bytes(path.read_bytes()[:-1])
    capsys.readouterr()

    assert main(["trace", "validate", str(out)]) == 2

    first, last = capsys.readouterr().out.splitlines()
    assert str(path) in first
    assert "restore it from a copy" in first
    assert last == f"1 problem in {out}"


@pytest.mark.parametrize("command", ["validate", "recover"])
def test_care_commands_report_bad_input_with_exit_code_2(tmp_path, capsys, command):
    (tmp_path / "file").write_text("x")

    for path in (tmp_path, tmp_path / "gone", tmp_path / "file"):
        assert main(["trace", command, str(path)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("kvtrace: ")
        assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["validate", "recover"])
def test_help_of_care_commands_has_an_example(capsys, command):
    assert main(["trace", command, "--help"]) == 0
    assert f"kvtrace trace {command} out/" in capsys.readouterr().out
