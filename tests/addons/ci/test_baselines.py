"""Baselines: kept, listed, compared with, replaced and removed."""

import json

import pytest

from kvtrace.addons.ci.baselines import BASELINES, baseline_folder, save_baseline
from kvtrace.cli import main
from kvtrace.schema.errors import BadSetting, TraceWriteError
from kvtrace.schema.trace import resolve
from kvtrace.schema.validation import validate
from tests.converters.compared_kernels import LINE_3, SCALE, finding
from tests.converters.written_trace import add_findings, write_trace


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Two judged traces, the second with a violation, and a project as the working directory."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    sides = [write_trace(tmp_path / name, [SCALE]) for name in ("before", "after")]
    add_findings(sides[0], [], [LINE_3])
    add_findings(sides[1], [finding("x", LINE_3)], [LINE_3])
    return sides


@pytest.mark.costly("every word of gate; another of the file stays by day")
def test_a_baseline_is_saved_listed_compared_with_and_removed(traces, capsys):
    before, after = (str(side.trace.path) for side in traces)
    assert main(["gate", "save", "main", before, "--no-replay"]) == 0
    assert validate(BASELINES / "main") == []
    capsys.readouterr()
    assert main(["gate", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["baselines"]
    assert (listed["name"], listed["kernels"], listed["judged"]) == ("main", 1, True)
    assert 0 < listed["size_bytes"] < 100_000
    rules = ["--fail-on", "findings.new", "--no-replay"]
    assert main(["diff", "--against", "main", before, *rules]) == 0
    assert main(["diff", "--against", "main", after, *rules]) == 1
    assert "FAIL: 1 rule violated" in capsys.readouterr().out
    assert main(["gate", "rm", "main"]) == 0
    assert not (BASELINES / "main").exists()
    capsys.readouterr()
    assert main(["gate", "list"]) == 0
    assert "no baseline in .kvtrace/baselines" in capsys.readouterr().out


def test_old_words_save_list_and_delete_too_and_name_the_new_ones(traces, capsys):
    assert main(["baseline", "save", "main", str(traces[0].trace.path), "--no-replay"]) == 0
    assert "kvtrace baseline save is now kvtrace gate save; " in capsys.readouterr().err
    assert main(["baseline", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baselines"][0]["name"] == "main"
    assert main(["baseline", "rm", "main", "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert not (BASELINES / "main").exists()


def test_saving_again_replaces_the_baseline_and_says_so(traces, capsys):
    before, after = traces
    save_baseline("main", before)
    assert main(["gate", "save", "main", str(after.trace.path), "--no-replay"]) == 0
    assert "kvtrace: the baseline main replaced the one recorded 20" in capsys.readouterr().err
    assert main(["gate", "save", "v1", str(after.trace.path), "--no-replay"]) == 0
    assert capsys.readouterr().err == ""
    assert sorted(path.name for path in BASELINES.iterdir()) == ["main", "v1"]
    rules = ["--fail-on", "findings.new", "--no-replay"]
    assert main(["diff", "--against", "main", str(after.trace.path), *rules]) == 0


def test_failed_save_keeps_the_earlier_baseline(traces, monkeypatch):
    before, after = traces
    saved = save_baseline("main", before)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kvtrace.addons.ci.baselines.write_part", full)
    with pytest.raises(TraceWriteError, match="No space left"):
        save_baseline("main", after)
    assert [path.name for path in BASELINES.iterdir()] == ["main"]
    (run,) = resolve(str(BASELINES / "main")).runs
    assert (run.run_id, saved.runs) == (before.runs[0].run_id, 1)


def test_replay_by_a_diff_leaves_the_baselines_files_unchanged(traces, capsys):
    save_baseline("main", traces[0])
    files = {path: path.stat().st_mtime_ns for path in BASELINES.rglob("*")}
    after = str(traces[1].trace.path)
    assert main(["diff", "--against", "main", after, "--replay"]) == 1
    assert {path: path.stat().st_mtime_ns for path in BASELINES.rglob("*")} == files


def test_git_ignores_the_project_folder_except_baselines(traces):
    save_baseline("main", traces[0])
    assert (BASELINES.parent / ".gitignore").read_text() == "/gate/\n/report/\n"


def test_removing_a_missing_baseline_names_those_that_exist(traces, capsys):
    for names in ("none", "main, v1"):
        assert main(["gate", "rm", "nope"]) == 2
        assert capsys.readouterr().err == (
            f"kvtrace: there is no baseline 'nope' in .kvtrace/baselines (there are {names}).\n"
        )
        save_baseline("main", traces[0])
        save_baseline("v1", traces[0])


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", "a b", "-x", "x" * 101])
def test_invalid_name_is_a_one_sentence_error(name):
    with pytest.raises(BadSetting, match="cannot name a baseline"):
        baseline_folder(name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["diff", "--against", "none", "AFTER"], "there is no baseline 'none'"),
        (["diff", "--against", "main", "AFTER", "AFTER"], "give two sides"),
        (["diff", "AFTER"], "give two sides"),
        (["gate", "rm", "none"], "there is no baseline 'none'"),
        (["gate", "save"], "gate save needs NAME"),
        (["gate", "list", "main"], "gate list has no argument for 'main'"),
        (["gate", "rm", "main", "AFTER"], "gate rm has no argument for"),
        (["gate", "save", "main"], "there is no directory .kvtrace/gate"),
        (["baseline", "keep", "main"], "baseline is now kvtrace gate save, kvtrace gate list,"),
    ],
)
def test_invalid_command_is_a_one_sentence_error(traces, words, message, capsys):
    after = str(traces[1].trace.path)
    assert main([after if word == "AFTER" else word for word in words]) == 2
    assert message in capsys.readouterr().err
