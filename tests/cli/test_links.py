"""Places in files as links of terminals that know them, and as plain text elsewhere."""

import os
import pty
import shutil
import sys
from pathlib import Path

import pytest

from kvtrace.cli import complain
from kvtrace.cli.links import knows_links, linked

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "missing_mask"


@pytest.mark.parametrize(
    ("variables", "so"),
    [
        ("TERM_PROGRAM=vscode", True), ("KITTY_WINDOW_ID=1", True), ("VTE_VERSION=7600", True),
        ("VTE_VERSION=4999", False), ("VTE_VERSION=x", False), ("TERM=xterm-256color", False),
        ("TERM_PROGRAM=vscode TMUX=x", False), ("TERM_PROGRAM=vscode JPY_PARENT_PID=7", False),
        ("TERM=dumb WT_SESSION=1", False),
        ("FORCE_HYPERLINK=1", True), ("TERM_PROGRAM=WezTerm FORCE_HYPERLINK=0", False),
    ],
)  # fmt: skip
def test_terminals_with_links_are_known_by_their_variables(variables, so):
    assert knows_links(dict(pair.split("=") for pair in variables.split())) is so


def test_places_of_files_that_exist_are_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.py").touch()
    (tmp_path / "k.py").touch()
    file = f"file://{os.uname().nodename}{tmp_path}"

    text = "\x1b[1mk.py:6:21\x1b[0m: error at http://k.py:80 and gone.py:3, 1.5:2"
    assert linked(text, {}) == text.replace(
        "k.py:6:21", f"\x1b]8;;{file}/k.py\x1b\\k.py:6:21\x1b]8;;\x1b\\"
    )
    assert f";{file}/k.py#6\x1b" in linked("(k.py:6)", {"KITTY_WINDOW_ID": "1"})
    opened = linked(f"{tmp_path}/k.py:6:21", {"TERM_PROGRAM": "vscode"})
    assert f";vscode://file{tmp_path}/k.py:6:21\x1b" in opened


def test_messages_in_a_terminal_link_to_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").touch()
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    reader, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        complain("no call of the kernel at k.py:6 was judged")
        drawn = os.read(reader, 4096).decode()
    os.close(reader)
    assert "/k.py\x1b\\k.py:6\x1b]8;;\x1b\\" in drawn


@pytest.mark.process
def test_findings_in_a_terminal_link_to_the_kernel(tmp_path):
    shutil.copytree(FIXTURE, tmp_path / "out")
    (tmp_path / "file1.py").touch()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ |= {"FORCE_HYPERLINK": "1", "PYTHONPATH": str(FIXTURE.parents[2])}
        words = ["-m", "kvtrace", "sanitize", "out"]
        os.execv(sys.executable, [sys.executable, *words])
    drawn = b""
    try:
        while part := os.read(terminal, 1 << 16):
            drawn += part
    except OSError:  # it has ended
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert b"/file1.py\x1b\\file1.py:6:21\x1b]8;;\x1b\\" in drawn
