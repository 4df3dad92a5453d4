"""`kvtrace suite run` on a small suite, without a GPU, and what it refuses."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kvtrace.addons.suite.commands.run import command
from kvtrace.addons.suite.model import BadSuite
from kvtrace.addons.suite.results import result_of
from kvtrace.addons.suite.running import SuiteFailed, has_gpu
from kvtrace.schema.errors import BadSetting
from tests.addons.suite.hand_results import call, result
from tests.addons.suite.small_suite import small_suite
from tests.support.tiers import needs
from tests.support.written_documents import shown_by

CANDIDATES = """
import triton, triton.language as tl

@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(y + i, i < n) + tl.load(x + i, i < n), i < n)

def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)

def doubled(x, n):
    x[: n - 1].mul_(2)  # the last one is forgotten

def raises(x):
    raise RuntimeError("no such thing")
"""


@pytest.fixture(scope="module")
@needs("process")
def suite(tmp_path_factory) -> Path:
    return small_suite(tmp_path_factory.mktemp("suite_run"))


@pytest.fixture
def mine(tmp_path) -> Path:
    (tmp_path / "mine.py").write_text(CANDIDATES)
    return tmp_path / "mine.py"


@pytest.mark.skipif(has_gpu(), reason="it is about machines without a GPU")
@pytest.mark.smoke
def test_without_a_gpu_every_call_is_launched_and_none_is_timed(suite, tmp_path, capsys):
    files = {name: tmp_path / f"result.{name}" for name in ("json_file", "junit", "html")}
    assert command(suite, **files) == 0
    text = capsys.readouterr().out
    assert "4 of 4 calls were launched without a GPU" in text
    found = result_of(json.loads(files["json_file"].read_text()))
    assert [one.kernel for one in found.calls] == ["added", "added", "doubled", "doubled"]
    assert {one.status for one in found.calls} == {"launched"}
    assert {one.time for one in found.calls} == {None}
    assert [list(one.results) for one in found.calls] == [["out"], ["out"], ["x"], ["x"]]
    assert found.gpus == []
    assert "without a GPU" in json.dumps(shown_by(files["html"].read_text()))
    root = ElementTree.parse(files["junit"]).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "0", "0")


def test_candidates_are_compared_with_the_recorded_kernels(suite, mine, tmp_path, capsys):
    file = tmp_path / "result.json"
    assert command(suite, candidate=str(mine), json_file=file) == 1
    found = result_of(json.loads(file.read_text()))
    verdicts = {one.name: one.candidate.verdict for one in found.calls}
    assert list(verdicts.values()) == ["right", "right", "wrong", "wrong"]
    assert "x: 1 of 100 elements differ, the first at 99" in capsys.readouterr().out


def test_a_candidate_of_another_name_is_for_chosen_calls(suite, mine, capsys):
    assert command(suite, candidate=f"{mine}:raises", calls=["*-doubled"]) == 1
    text = capsys.readouterr().out
    assert "mine.py:raises is failed on 003-doubled: RuntimeError: no such thing" in text
    assert "added" not in text


def test_a_call_that_cannot_be_compiled_is_an_error_of_its_own(suite, tmp_path, capsys):
    broken = Path(shutil.copytree(suite, tmp_path / "broken"))
    (broken / "kernels" / "doubled.ttir").write_text("module {")
    assert command(broken, calls=["*-doubled", "001-*"]) == 1
    text = capsys.readouterr().out
    assert "003-doubled failed: " in text
    assert "1 of 3 calls were launched" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calls": ["none*"]}, r"no call matches none\*; there are 001-added"),
        ({"candidate": "MINE:raises"}, r"no candidate is named as a kernel .*added, doubled"),
    ],
)
@pytest.mark.skipif(has_gpu(), reason="it is about machines without a GPU")
def test_bad_options_are_refused_in_a_sentence(suite, mine, options, message):
    options = {
        name: value.replace("MINE", str(mine)) if isinstance(value, str) else value
        for name, value in options.items()
    }
    with pytest.raises(BadSetting, match=message):
        command(suite, **options)


def test_another_folder_or_result_is_refused(tmp_path):
    with pytest.raises(BadSuite, match="is no suite"):
        command(tmp_path)
    (tmp_path / "bad.json").write_text('{"version": "1.0"}')
    with pytest.raises(BadSetting, match="is no result of kvtrace suite run --json"):
        command(tmp_path, against=tmp_path / "bad.json")


def test_an_output_that_cannot_be_written_is_reported_before_anything_runs(suite, tmp_path):
    with pytest.raises(BadSetting, match="does not exist"):
        command(suite, json_file=tmp_path / "none" / "result.json")


def test_a_suite_of_an_older_version_has_to_be_made_again(suite, tmp_path):
    old = Path(shutil.copytree(suite, tmp_path / "old"))
    (old / "results.py").unlink()
    with pytest.raises(BadSetting, match=r"has no results.py; make the suite again"):
        command(old)


def test_a_run_that_ends_without_a_result_says_what_it_printed_last(suite, tmp_path):
    old = Path(shutil.copytree(suite, tmp_path / "old"))
    (old / "results.py").write_text("raise SystemExit('out of order')")
    with pytest.raises(SuiteFailed, match=r"ended with 1 and no result; .*: out of order"):
        command(old)


def test_without_times_nothing_is_compared(suite, tmp_path, capsys):
    before = tmp_path / "before.json"
    before.write_text(json.dumps(asdict(result(call("001-added", 100, 100, 100)))))
    assert command(suite, against=before, calls=["001-*"]) == 0
    assert f"No call was timed here and in {before}" in capsys.readouterr().out
