"""Files that attack: what they do is said, and harms nothing."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kvtrace.candidates.confining import run_confined
from kvtrace.candidates.judging import judge_file
from kvtrace.candidates.request import Place, Request, entry_of, read_file
from tests.judge.labelled import FOLDER

ATTACKS = {path.stem: path for path in sorted((FOLDER / "attacks").glob("*.py"))}
REFERENCE = Place(FOLDER / "references.py", "relu")


@pytest.fixture
def attacked(tmp_path, monkeypatch):
    """Return a function that judges an attack, and the folder that it is told to attack."""
    folder = tmp_path / "attacked"
    folder.mkdir()
    (folder / "precious").write_text("kept")
    monkeypatch.setenv("ATTACKED", str(folder))
    monkeypatch.setenv("JUDGE", str(os.getpid()))

    def judge(name, **settings):
        request = Request(entry_of(read_file(ATTACKS[name]), None), REFERENCE, seconds=20)
        judgement = judge_file(replace(request, **settings))
        assert {path.name for path in folder.iterdir()} == {"precious"}
        assert (folder / "precious").read_text() == "kept"
        return judgement

    return judge


def rules_of(judgement):
    return {each["rule"]: each for each in judgement.object["findings"]}


@pytest.mark.parametrize(
    ("name", "rule", "said"),
    [
        ("writes_files", "writes", "changes files outside of its folder, or tries to"),
        ("deletes_files", "writes", "precious"),
        ("forks", "processes", "starts or signals processes"),
        ("kills_parent", "processes", "starts or signals processes"),
        ("connects", "network", "127.0.0.1"),
        ("patches_torch", "patches", "torch.allclose"),
        ("patches_kvtrace", "patches", "kvtrace.candidates.comparing.compared"),
    ],
)
def test_an_attack_is_told_and_fails(attacked, name, rule, said):
    judgement = attacked(name)
    assert judgement.verdict == "wrong"
    assert said in rules_of(judgement)[rule]["message"]
    assert all(judgement.object["confined"][wall] for wall in ("network", "writes", "processes"))


@pytest.mark.parametrize("name", ["patches_torch", "patches_kvtrace"])
def test_what_is_patched_changes_no_result(attacked, name):
    assert "wrong-result" in rules_of(attacked(name))


def test_a_loop_without_end_is_ended(attacked):
    begun = time.monotonic()
    judgement = attacked("loops", seconds=3)
    assert time.monotonic() - begun < 20
    assert (judgement.verdict, judgement.status) == ("wrong", 1)
    assert "did not end within 3 s" in rules_of(judgement)["never-ends"]["message"]


def test_forked_processes_do_not_outlive_the_judgement(attacked):
    attacked("forks")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [c for c in children if "forks" in Path(f"/proc/{c}/cmdline").read_text()] == []


def test_too_much_memory_is_refused(attacked):
    judgement = attacked("eats_memory", memory_mb=600)
    assert judgement.verdict == "wrong"
    assert "MemoryError" in rules_of(judgement)["raises"]["message"]


def test_ending_the_process_gives_no_verdict_of_right(attacked):
    judgement = attacked("exits")
    assert judgement.verdict != "right"
    assert "dies" in rules_of(judgement)


def test_a_result_that_is_mended_on_the_host_is_not_believed(attacked):
    judgement = attacked("changes_result")
    assert judgement.verdict == "unjudged"
    assert "computed by PyTorch" in rules_of(judgement)["host-computed"]["message"]


@pytest.mark.parametrize("name", ["forges_log", "forges_trace"])
def test_a_forged_record_gives_no_verdict_of_right(attacked, name):
    assert attacked(name).verdict != "right"


def test_what_a_confined_process_may_not_do(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()

    def work():
        for attempt in (
            lambda: (outside / "made").write_text("x"),
            lambda: outside.rmdir(),
            lambda: os.kill(parent, 0),
        ):
            try:
                attempt()
            except OSError as error:
                print(type(error).__name__)
        Path("mine").write_text(os.environ.get("MY_TOKEN", "no token"))

    parent = os.getpid()
    folder = tmp_path / "folder"
    ended = run_confined(work, folder, seconds=10, memory_mb=500)

    assert ended.how == "whole"
    assert ended.walls.missing() == []
    assert len(ended.said.split()) == 3
    assert (folder / "work" / "mine").read_text() == "no token"
    assert list(outside.iterdir()) == []


def test_the_user_s_secrets_are_not_in_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "secret")
    test_what_a_confined_process_may_not_do(tmp_path)
