"""Every console example of README.md and pages that begin a use, run in its page's order."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from kvtrace.cli import command_line, own_commands
from tests.docs.pages import ENTRY_PAGES, ROOT, TUTORIALS, Command, Written, steps
from tests.support.warm_python import warm_python

PAGES = [ROOT / "README.md", *ENTRY_PAGES, ROOT / "docs" / "agents.md", *TUTORIALS]
#: What a page may show that is not run, besides commands of kvtrace, whose options are looked at.
INSTALLING = ("pip install ", "make demo", "make test")

#: Where the reader of a page works, in paths that commands print.
HOME = "/home/me"

KVTRACE = "import sys; from kvtrace.cli import main; sys.exit(main())"
PYTEST = "import sys; from pytest import console_main; sys.exit(console_main())"
#: Packages that are imported once for all commands of all pages.
IMPORTED = ("torch", "pyarrow.dataset", "pyarrow.parquet", "duckdb", "z3", "sympy")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder for PATH: commands in a Python that has imported packages already."""
    folder = tmp_path_factory.mktemp("programs")
    warm = " ".join(f"'{word}'" for word in warm_python(modules=IMPORTED).command)
    started = {"kvtrace": f"{warm} -c '{KVTRACE}'", "pytest": f"{warm} -c '{PYTEST}'"}
    for name, start in {"python": warm, **started}.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {start} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture(scope="module")
def environment(programs, tmp_path_factory):
    """As of a user in a terminal of 80 columns, with a browser that opens nothing."""
    unset = ("KVTRACE", "PYTHON", "TRITON", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    people = {
        f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return kept | people | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
        "BROWSER": "true",
        "CUDA_VISIBLE_DEVICES": "",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_NAME": "Somebody" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "somebody@localhost" for who in ("AUTHOR", "COMMITTER")},
        "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "TMPDIR": str(tmp_path_factory.mktemp("temporary")),
    }  # fmt: skip


def run(command: Command, folder: Path, environment: dict[str, str]) -> str:
    """Run a command as a shell does and return what it prints, with findings as on a terminal."""
    text = re.sub(r"(kvtrace sanitize)(?!.*(\||--lines))", r"\1 --blocks", command.text)
    printed = folder.parent / "printed.txt"
    with printed.open("w") as file:
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    text = printed.read_text(encoding="utf-8")
    assert done.returncode == command.code, f"{command.text}\n{text}"
    return text.replace(str(folder), HOME)


#: What differs from run to run and machine to machine, and what stands for it.
VARYING = (
    (r"\b\d{8}-\d{6}-\d{3}-[0-9a-f]{8}\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "DATE"),
    (r"(?<![\w.])-?\d[\d,.]* (?:ns|µs|ms|s)\b", "TIME"),
    (r"\b\d[\d.,]* (?:[KM]iB|MB)\b", "SIZE"),
    (r"\s+", " "),
)


def plain(line: str) -> str:
    for pattern, name in VARYING:
        line = re.sub(pattern, name, line)
    return line.strip()


def missing(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the first lines that a page shows and a command did not print; `…` is any lines."""
    left = [plain(line) for line in printed.splitlines()]
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == "…":
            parts.append([])
        else:
            parts[-1].append(plain(line))
    for part in parts:
        starts = (i for i in range(len(left) - len(part) + 1) if left[i : i + len(part)] == part)
        start = next(starts, None)
        if start is None:
            return part
        left = left[start + len(part) :]
    return []


@pytest.mark.process
@pytest.mark.parametrize(
    "page",
    [pytest.param(PAGES[0], marks=pytest.mark.smoke), *PAGES[1:]],
    ids=lambda page: page.stem,
)
def test_console_examples_of_a_page_print_what_it_shows(page, environment, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("examples", "tests"):  # a checkout, as the pages say
        (folder / name).symlink_to(ROOT / name)
    ran = 0
    for step in steps(page):
        if isinstance(step, Written):
            (folder / step.name).write_text(step.text, encoding="utf-8")
        elif step.not_run is None:
            printed = run(step, folder, environment)
            assert missing(step.shown, printed) == [], f"{page.name}:{step.line} printed\n{printed}"
            ran += 1
    assert ran >= 1


def parsed(words: list[str]) -> None:
    """Have a command's own parser read its arguments; raises on what it does not know."""
    _, name, *arguments = words
    if f"{name} {' '.join(arguments[:1])}" in own_commands():  # of two words
        name, *arguments = f"{name} {arguments[0]}", *arguments[1:]
    assert name in own_commands()
    command_line(name).parsed(arguments)


UNRUN = [
    pytest.param(step, id=f"{page.stem}:{step.line}")
    for page in PAGES
    for step in steps(page)
    if isinstance(step, Command) and step.not_run is not None
]


@pytest.mark.parametrize("command", UNRUN)
def test_commands_that_are_not_run_are_accepted_by_their_parser(command):
    if command.words[0] == "kvtrace":
        parsed(command.words)
    else:
        assert " ".join(command.words).startswith(INSTALLING)
    assert len(UNRUN) <= 5


IN_README = re.findall(r"`(kvtrace [a-z][^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", dict.fromkeys(IN_README))
def test_commands_in_the_readme_are_accepted_by_their_parsers(text):
    words = Command(0, text, (), None).words
    if len(words) == 2:
        assert any(f"{name} ".startswith(f"{words[1]} ") for name in own_commands())
    else:
        parsed(words)


def test_unknown_option_in_an_example_is_found():
    with pytest.raises(Exception, match="--colour"):
        parsed(["kvtrace", "info", "out/", "--colour"])


def test_differing_output_of_an_example_is_found():
    printed = "a 1.50 ms\nb\nc\n"
    assert missing(("a   20 µs", "b"), printed) == []
    assert missing(("…", "c"), printed) == []
    assert missing(("a 1 ms", "c"), printed) == ["a TIME", "c"]
    assert missing(("c", "…", "a 1 ms"), printed) == ["a TIME"]
