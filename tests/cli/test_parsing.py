"""Words of a command line as parameters of a function, and what is said of wrong ones."""

from pathlib import Path
from typing import Annotated, Literal

import pytest

from kvtrace.cli.parsing import Argument, BadUsage, CommandLine, HelpRequested, Option


def command(
    files: Annotated[list[Path], Argument(metavar="FILE…", help="What to read")],
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Where to")] = Path("out"),
    json: Annotated[bool, Option("--json", help="Print JSON")] = False,
    quiet: Annotated[bool, Option("-q")] = False,
    lines: Annotated[bool | None, Option("--lines/--blocks")] = None,
    rule: Annotated[list[str] | None, Option(metavar="ID", help="By this rule")] = None,
    form: Annotated[Literal["table", "csv"], Option("--format")] = "table",
    seconds: Annotated[float, Option(min=0.5, max=60)] = 1.0,
    mode: Annotated[str, Option(envvar="KVTRACE_TEST_MODE")] = "launch",
    secret: Annotated[int | None, Option(hidden=True)] = None,
) -> None:
    """Do something with files.

    A second paragraph, which is long enough that it has to be wrapped over two lines of text.

    Example:
        kvtrace test a b
        kvtrace test a --json
    """


LINE = CommandLine("kvtrace test", command, passthrough=False)


def values_without_defaults(words):
    arguments = LINE.parsed(words.split())
    return {name: value for name, value in arguments.items() if value != DEFAULTS.get(name)}


DEFAULTS = {
    "output": Path("out"), "json": False, "quiet": False, "lines": None, "rule": None,
    "form": "table", "seconds": 1.0, "mode": "launch", "secret": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("a", {}),
        ("a --json b", {"files": [Path("a"), Path("b")], "json": True}),
        ("-o x a", {"output": Path("x")}),
        ("-ox a", {"output": Path("x")}),
        ("-qo x a", {"output": Path("x"), "quiet": True}),
        ("a -o -", {"output": Path("-")}),
        ("a --output=-x", {"output": Path("-x")}),
        ("a --output -x", {"output": Path("-x")}),
        ("-- --json", {"files": [Path("--json")]}),
        ("a - -- -b", {"files": [Path("a"), Path("-"), Path("-b")]}),
        ("a --lines", {"lines": True}),
        ("a --lines --blocks", {"lines": False}),
        ("a --rule x --rule=y", {"rule": ["x", "y"]}),
        ("a --format csv", {"form": "csv"}),
        ("a --seconds 2", {"seconds": 2.0}),
        ("a --seconds 2 --seconds 3", {"seconds": 3.0}),
        ("a --seconds 0.5", {"seconds": 0.5}),
        ("a --seconds 60", {"seconds": 60.0}),
        ("a --secret -3", {"secret": -3}),
    ],
)
def test_words_are_parsed_into_the_functions_arguments(words, wanted):
    assert values_without_defaults(words) == {"files": [Path("a")], **wanted}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "test needs FILE…; see kvtrace test --help."),
        ("a --jsn", "test has no option --jsn (did you mean '--json'?)"),
        ("a -x", "test has no option -x"),
        ("a --json=1", "--json must not have a value"),
        ("a --output", "--output needs a value: --output DIR"),
        ("a --format cvs", "--format has to be one of table, csv, not 'cvs' (did you mean 'csv'?)"),
        ("a --seconds x", "--seconds has to be a number, not 'x'"),
        ("a --seconds 0", "--seconds has to be at least 0.5 and at most 60, not 0"),
        ("a --seconds 61", "--seconds has to be at least 0.5 and at most 60, not 61"),
        ("a --seconds nan", "--seconds has to be at least 0.5 and at most 60, not nan"),
        ("a --secret 1.5", "--secret has to be a whole number, not '1.5'"),
    ],
)
def test_invalid_words_are_reported_in_a_sentence(words, said):
    with pytest.raises(BadUsage) as caught:
        values_without_defaults(words)
    assert said in str(caught.value)


def test_a_variable_is_used_if_the_option_is_missing(monkeypatch):
    monkeypatch.setenv("KVTRACE_TEST_MODE", "ops")
    assert LINE.parsed(["a"])["mode"] == "ops"
    assert LINE.parsed(["a", "--mode", "timeline"])["mode"] == "timeline"
    monkeypatch.setenv("KVTRACE_TEST_MODE", "")
    assert LINE.parsed(["a"])["mode"] == "launch"


def test_words_after_a_program_are_passed_to_the_program():
    def run(
        program: Annotated[list[str], Argument(metavar="SCRIPT [ARGS…]")],
        output: Annotated[Path, Option("-o")] = Path("out"),
    ) -> None:
        """Run."""

    line = CommandLine("kvtrace run", run, passthrough=True)
    words = ["-o", "x", "train.py", "-o", "y", "--", "--help"]
    assert line.parsed(words) == {"program": words[2:], "output": Path("x")}
    assert line.parsed(["--", "python", "-m", "x"])["program"] == ["python", "-m", "x"]
    with pytest.raises(HelpRequested):
        line.parsed(["-h", "train.py"])


def test_the_help_lists_all_visible_parameters():
    assert (
        LINE.help(70)
        == """\
Usage: kvtrace test [OPTIONS] FILE…

  Do something with files.

  A second paragraph, which is long enough that it has to be wrapped
  over two lines of text.

  Example:
      kvtrace test a b
      kvtrace test a --json

Arguments:
  FILE…  What to read  [required]

Options:
  -o, --output DIR    Where to  [default: out]
  --json              Print JSON
  -q
  --lines / --blocks
  --rule ID           By this rule
  --format table|csv  [default: table]
  --seconds NUMBER    [default: 1.0]
  --mode TEXT         [default: launch]
  -h, --help          Show this message and exit"""
    )


def test_plain_parameters_are_arguments_and_options():
    def plain(trace: str, count: int = 3) -> None:
        """Do it."""

    line = CommandLine("kvtrace plain", plain, passthrough=False)
    assert line.parsed(["out", "--count", "4"]) == {"trace": "out", "count": 4}
    with pytest.raises(BadUsage, match="has no argument for 'more'"):
        line.parsed(["out", "more"])
