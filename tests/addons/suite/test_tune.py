"""A suite's tune.py, run in kvtrace's evaluator: what is tried, refused and said."""

import json
import shutil
from pathlib import Path

import pytest

from kvtrace.addons.suite.commands.tune import command
from kvtrace.addons.suite.making import SuiteSettings, make_suite
from kvtrace.addons.suite.model import BadSuite
from kvtrace.addons.suite.tuning import prepare
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection, open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = Path(__file__).with_name("tuned_program.py")
GRID = ["cdiv(n, BLOCK)"]
CONFIGS = {
    "doubled": {
        "configurations": [
            {"constants": {"BLOCK": 256}, "grid": GRID},
            {"constants": {"BLOCK": 512}, "grid": [1]},
            {"constants": {"BLOCK": 128}, "grid": ["cdiv(rows, BLOCK)"]},
            {"constants": {"BLOCK": 32}, "grid": ["__import__('os').getpid()"]},
            {"constants": {"BLOCK": 100}, "grid": GRID},
        ]
    },
    "summed": {"grid": GRID, "space": {"BLOCK": [256, 1024], "num_warps": [2, 4]}},
}


def suite_of(folder, *, source):
    """Record the program and make a suite of it, with the files that tune.py needs."""
    run_with(
        INSTALLED, [str(PROGRAM)], folder / "cache", fresh=True,
        KVTRACE=str(folder / "out"), KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    trace = open_trace(folder / "out")
    suite = folder / "suite"
    make_suite(Selection(trace, trace.runs), suite, SuiteSettings(1.0, source=source))
    prepare(suite, None)
    return suite


def outcomes_of(suite, *words):
    """Run tune.py, and return its outcomes by kernel, and what it printed."""
    folder = suite.parent
    done = run_with(
        INSTALLED,
        [
            "-m", "kvtrace", "run", "-o", str(folder / "again"), str(suite / "tune.py"),
            "--clock", "events", "--json", str(folder / "result.json"), *words,
        ],
        folder / "cache", fresh=True,
    )  # fmt: skip
    content = json.loads((folder / "result.json").read_text())
    return {outcome["kernel"]: outcome for outcome in content["outcomes"]}, done.stdout


@pytest.fixture(scope="module")
@needs("process")
def from_source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    suite = suite_of(folder, source=True)
    (folder / "configs.json").write_text(json.dumps(CONFIGS))
    return outcomes_of(suite, "--configs", str(folder / "configs.json"))


def test_configurations_of_a_file_are_tried_and_wrong_ones_refused(from_source):
    outcome = from_source[0]["doubled"]

    assert outcome["recorded"] == "BLOCK=64"
    assert (outcome["tried"], outcome["best"]) == (1, "BLOCK=256")
    refused = outcome["refused"]
    assert refused.keys() == {"BLOCK=512", "BLOCK=128", "BLOCK=32", "BLOCK=100"}
    assert "other results: out: 488 of 1,000 elements differ" in refused["BLOCK=512"]
    assert "KeyError('rows')" in refused["BLOCK=128"]
    assert "cannot be computed" in refused["BLOCK=32"]
    assert "CompilationError" in refused["BLOCK=100"]


def test_space_is_searched_one_name_after_another(from_source):
    outcome = from_source[0]["summed"]

    assert outcome["recorded"] == "BLOCK=128 num_warps=4"
    assert not outcome["refused"]
    assert outcome["tried"] >= 3


def test_each_outcome_says_its_gain_or_that_there_is_none(from_source):
    outcomes, text = from_source

    for outcome in outcomes.values():
        least, most = outcome["gain_range"]
        assert least <= outcome["gain"] <= most
        assert (outcome["outcome"] == "gain") == (least >= 0.01)
        names = dict(pair.split("=") for pair in outcome["recorded"].split())
        if outcome["outcome"] == "no gain":
            assert {name: str(value) for name, value in outcome["chosen"].items()} == names
    assert "no GPU: the times are those of an evaluator" in text
    assert "of what the run's Triton kernels take" in text


@pytest.fixture(scope="module")
@needs("process")
def suite_of_ir(tmp_path_factory):
    return suite_of(tmp_path_factory.mktemp("ir"), source=False)


@pytest.mark.process
def test_suite_of_ir_is_tried_with_warps_and_stages_alone(suite_of_ir, tmp_path):
    configs = tmp_path / "configs.json"
    configs.write_text(json.dumps({"summed": {"configurations": [{"options": {"num_warps": 2}}]}}))

    outcomes, _ = outcomes_of(suite_of_ir, "--configs", str(configs), "--calls", "summed")

    assert outcomes.keys() == {"summed"}
    assert outcomes["summed"]["recorded"] == "num_warps=4"
    assert outcomes["summed"]["tried"] == 1


@pytest.mark.process
def test_bad_files_and_patterns_are_one_sentence(suite_of_ir, tmp_path):
    configs = tmp_path / "configs.json"
    configs.write_text("[1]")
    for words, sentence in (
        (["--configs", str(configs)], "is no file of configurations"),
        (["--configs", str(tmp_path / "none.json")], "cannot be read"),
        (["--calls", "other*"], "no call or kernel of the suite matches other*"),
    ):
        with pytest.raises(AssertionError, match=r"tune\.py: ") as failure:
            run_with(INSTALLED, [str(suite_of_ir / "tune.py"), *words], tmp_path / "cache")
        assert sentence in str(failure.value)
        assert "Traceback" not in str(failure.value)


def test_without_a_gpu_the_command_is_said(suite_of_ir, tmp_path, capsys):
    suite = Path(shutil.copytree(suite_of_ir, tmp_path / "suite"))
    result = tmp_path / "x.json"

    assert command(suite, suite_of_ir.parent / "out", calls="summed", json_file=result) == 0

    out, err = capsys.readouterr()
    assert err == f"kvtrace: {suite}: configurations of autotuners for 0 calls\n"
    assert out.splitlines() == [
        f"no GPU here; on a machine with one: python {suite / 'tune.py'} --calls summed --json "
        f"{result}",
    ]
    assert command(suite, calls="summed", json=True) == 0
    assert json.loads(capsys.readouterr().out)["command"][-2:] == ["--calls", "summed"]
    assert json.loads((suite / "configurations.json").read_text()) == {}


def test_damaged_suites_and_other_traces_are_said(suite_of_ir, tmp_path):
    suite = Path(shutil.copytree(suite_of_ir, tmp_path / "suite"))
    (suite / "candidates.py").unlink()
    with pytest.raises(BadSetting, match=r"has no candidates\.py; make the suite again"):
        command(suite)
    with pytest.raises(BadSuite, match="is no suite"):
        command(tmp_path)
