"""Plans on disk keep their form, and are carried out; what is none is refused."""

import json
from hashlib import sha256

import pytest

from kvtrace.schema.plans import Replacement, commit, commit_removal, unfinished
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from tests.support.many_runs import write_run


@pytest.fixture
def out(tmp_path):
    """Two runs."""
    for number in range(2):
        write_run(tmp_path / "out", number, 10 - number)
    (tmp_path / "out" / ".journal").mkdir(exist_ok=True)
    return tmp_path / "out"


def with_sum(plan, text):
    return plan | {"checksum": sha256(text.encode()).hexdigest()}


def test_plan_files_have_the_form_of_earlier_versions(out):
    removal = json.loads(commit_removal(out, ["one", "two"]).read_text())
    assert removal == with_sum({"runs": ["one", "two"]}, '["one", "two"]')
    path = commit(out, Replacement("one", "sanitize", {"findings": "fresh"}))
    text = '{"fresh": {"findings": "fresh"}, "pass_name": "sanitize", "run": "one"}'
    assert json.loads(path.read_text()) == with_sum(json.loads(text), text)


def test_recover_completes_a_removal(out):
    oldest, newest = open_trace(out).run_ids
    commit_removal(out, [oldest])

    done = recover(out)

    assert "an interrupted kvtrace trace prune was completed: its runs are removed" in done.notes
    assert open_trace(out).run_ids == (newest,)
    assert unfinished(out, "removal") == ()


@pytest.mark.parametrize(
    "plan",
    [
        lambda runs: {"runs": runs},
        lambda runs: with_sum({"runs": runs[:1]}, json.dumps(runs)),
        lambda _: with_sum({"runs": ["../elsewhere"]}, '["../elsewhere"]'),
        lambda _: with_sum({"runs": [1]}, "[1]"),
        lambda runs: runs,
        lambda _: "no plan",
    ],
)
def test_removal_refuses_a_plan_with_other_content(out, plan):
    runs = list(open_trace(out).run_ids)
    path = out / ".journal" / "removal-0123456789abcdef.json"
    path.write_text(json.dumps(plan(runs)))

    done = recover(out)

    assert any(str(path) in note and "is damaged" in note for note in done.notes)
    assert list(open_trace(out).run_ids) == runs


def test_a_truncated_plan_is_refused(out):
    runs = open_trace(out).run_ids
    path = commit_removal(out, runs)
    path.write_text(path.read_text()[:-20])

    done = recover(out)

    assert any(str(path) in note and "is damaged" in note for note in done.notes)
    assert open_trace(out).run_ids == runs
