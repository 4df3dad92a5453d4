"""The grammar of the command line, held by every command of the registry."""

import ast
import importlib
import json
from inspect import signature
from pathlib import Path

import pytest

from kvtrace.cli import Command, command_line, main, own_commands
from kvtrace.cli.parsing import CommandLine
from kvtrace.text import display_width
from tests.cli.reading_commands import READING
from tests.support.tiers import some

COMMANDS = own_commands()
#: They print no data: one speaks a protocol on standard input and output, one deletes a folder.
WITHOUT_DATA = {"mcp", "gate rm"}
#: Commands that print data of a trace, soon.
QUICK = [
    name
    for name in ("info", "profile", "top", "sql", "fault", "trace validate", "trace recover")
    if name in READING
]
DIFF = pytest.param("diff", marks=pytest.mark.costly("five diffs; the other commands stay by day"))


def options_of(name):
    return {form: option for option in command_line(name).options for form in option.on}


def source_of(name):
    module = importlib.import_module(COMMANDS[name].module)
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_common_options(name):
    options = options_of(name)
    assert options["-q"] is options["--quiet"]
    assert name in WITHOUT_DATA or "--json" in options or "-o" in options
    if "--json" in options:
        assert options["--json"].is_flag
        assert "-o" in options
    if "-o" in options:
        output = options["-o"]
        assert output is options["--output"]
        assert output.metavar in ("FILE", "FOLDER")


@pytest.mark.parametrize("name", COMMANDS)
def test_what_prints_json_has_the_flag(name):
    """A module that writes JSON to standard output, and none that does not, has --json."""
    prints = any(
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "print"
        and any(
            getattr(call.func, "attr", getattr(call.func, "id", "")) == "dumps"
            for call in ast.walk(node)
            if isinstance(call, ast.Call)
        )
        for node in ast.walk(source_of(name))
    )
    assert not prints or "--json" in options_of(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_exit_code_1_is_described_where_a_command_can_end_with_it(name):
    function = importlib.import_module(COMMANDS[name].module).command
    ends_with_0 = signature(function, eval_str=True).return_annotation in (None, type(None))
    if ends_with_0 and name != "run":  # which becomes the script
        assert not COMMANDS[name].exit_1
    returned = [
        node.value for node in ast.walk(source_of(name)) if isinstance(node, ast.Return)
    ]  # fmt: skip
    codes = {value.value for value in returned if isinstance(value, ast.Constant)}
    if 1 in codes - {True}:
        assert COMMANDS[name].exit_1


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_terminal(name, width):
    text = command_line(name).help(width).partition("Example:")
    options = text[2].partition("Arguments:" if "Arguments:" in text[2] else "Options:")[2]
    for line in (text[0] + options).splitlines():
        assert display_width(line) <= width or " " not in line.strip()


@pytest.mark.costly("runs every command; options of all stay by day")
@pytest.mark.parametrize("name", [*QUICK, DIFF])
def test_json_output_and_quiet_mean_the_same_everywhere(name, kvtrace, own_trace, tmp_path):
    words = [str(own_trace) if word == "TRACE" else word for word in READING[name]]
    words = ["select 1 AS one" if word.startswith("SELECT") else word for word in words]
    code, text, _ = kvtrace(*words)
    assert code in (0, 1)
    assert text
    quiet_code, quiet_text, complaints = kvtrace(*words, "-q")
    assert (quiet_code, complaints) == (code, "")
    assert quiet_text or name == "trace recover"
    json.loads(kvtrace(*words, "--json")[1])
    file = tmp_path / "printed"
    assert kvtrace(*words, "--json", "-o", file)[:2] == (code, "")
    json.loads(file.read_text())
    assert json.loads(kvtrace(*words, "--json", "-o", "-")[1]) is not None


@pytest.mark.costly("runs every command; options of all stay by day")
@pytest.mark.parametrize("width", some(["40", "80", "200"], 3))
@pytest.mark.parametrize("name", [*QUICK, "diff"])
def test_output_fits_the_terminal(name, width, kvtrace, own_trace, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    words = [str(own_trace) if word == "TRACE" else word for word in READING[name]]
    words = ["select 1 AS one" if word.startswith("SELECT") else word for word in words]
    words += ["--once"] if name == "top" else []
    for line in kvtrace(*words)[1].splitlines():
        assert display_width(line) <= int(width) or " " not in line.strip()


@pytest.mark.costly("three diffs; the flag stays by day, and how it is parsed in test_parsing")
def test_file_after_json_still_works_with_a_line_of_deprecation(kvtrace, own_trace, tmp_path):
    file = tmp_path / "d.json"
    code, text, complaints = kvtrace("diff", own_trace, own_trace, "--no-replay", "--json", file)
    assert code == 0
    assert "merge?" in text
    assert complaints == (
        f"kvtrace: --json {file} is now --json > {file}; the old spelling will be removed in 0.5.\n"
    )
    printed = kvtrace("diff", own_trace, own_trace, "--no-replay", "--json", "-")
    assert printed[2].startswith("kvtrace: --json - is now --json; ")
    assert json.loads(printed[1]) == json.loads(file.read_text())
    assert kvtrace("diff", f"--json={file}", own_trace, own_trace, "--no-replay", "-q")[2] == ""


def test_file_that_cannot_be_written_is_reported_in_a_sentence(kvtrace, own_trace, tmp_path):
    code, text, complaints = kvtrace("info", own_trace, "-o", tmp_path / "missing" / "info.txt")
    assert (code, text) == (2, "")
    assert "the folder" in complaints
    assert complaints.count("\n") == 1
    kept = tmp_path / "info.txt"
    kept.write_text("earlier")
    assert kvtrace("sql", own_trace, "select nothing", "-o", kept)[0] == 2
    assert kept.read_text() == "earlier"


@pytest.mark.parametrize("options", [("diff", "--html"), ("sanitize", "--junit"), ("report", "-o")])
def test_files_are_checked_before_anything_is_read(options, kvtrace, tmp_path):
    command, option = options
    traces = [tmp_path / "no trace"] * (2 if command == "diff" else 1)
    code, _, complaints = kvtrace(command, *traces, option, tmp_path / "missing" / "file")
    assert code == 2
    assert f"the folder {tmp_path / 'missing'} of the output does not exist" in complaints


def test_option_before_the_command_is_told_to_follow_it(kvtrace):
    assert "-q has to follow a command" in kvtrace("-q", "info")[2]


def test_completion_option_has_help(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    for option in ("--install-completion", "--show-completion"):
        assert main([option, "--help"]) == 0
        assert capsys.readouterr().out.startswith("Usage: kvtrace --install-completion")
    assert list(tmp_path.iterdir()) == []


def test_command_of_another_package_gets_the_common_options():
    def command(trace: str) -> None:
        """Do something."""

    line = CommandLine("kvtrace else", command, passthrough=False, common=True)
    assert line.parsed(["out", "-q"]) == {"trace": "out", "quiet": True}
    assert Command("module", "text").exit_1 == ""
