"""Completion in shells: what it offers, and what shells read."""

import shutil
import subprocess

import pytest

from kvtrace.cli import main


@pytest.fixture
def candidates(monkeypatch, capsys):
    def offered(begun, *words):
        monkeypatch.setenv("_KVTRACE_COMPLETE", begun)
        assert main(list(words)) == 0
        return capsys.readouterr().out.split()

    return offered


def test_completion_offers_commands_their_second_words_and_options(candidates):
    assert candidates("sa") == ["sanitize"]
    assert candidates("rec", "trace") == ["recover"]
    assert candidates("--s", "info") == ["--stages", "--since", "--steps"]
    assert candidates("--j", "trace", "validate") == ["--json"]
    assert candidates("", "gate") == ["save", "list", "rm"]
    assert candidates("--no-r", "gate", "save") == ["--no-replay"]
    assert candidates("out", "info") == []
    assert candidates("--x", "nothing") == []


def test_completion_script_is_that_of_the_named_or_running_shell(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert main(["--show-completion"]) == 0
    assert "complete -c kvtrace" in capsys.readouterr().out
    assert main(["--show-completion", "tcsh"]) == 2
    assert "supports bash, zsh, fish, not 'tcsh'" in capsys.readouterr().err
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", "zsh"]) == 0
    assert main(["--install-completion", "zsh"]) == 0
    assert (tmp_path / ".zfunc" / "_kvtrace").read_text().startswith("#compdef kvtrace")
    assert (tmp_path / ".zshrc").read_text().count("compinit") == 2  # one line, added once


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_bash_completes_with_the_script(capsys, tmp_path):
    main(["--show-completion", "bash"])
    script = capsys.readouterr().out
    (tmp_path / "kvtrace").write_text('#!/bin/sh\nprintf "%s\\n" "$_KVTRACE_COMPLETE" "$@"\n')
    (tmp_path / "kvtrace").chmod(0o755)
    request_line = 'COMP_WORDS=(kvtrace trace val); COMP_CWORD=2; _kvtrace; echo "${COMPREPLY[*]}"'
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{request_line}"], capture_output=True, text=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True,
    )  # fmt: skip
    assert done.stdout == "val trace\n"
