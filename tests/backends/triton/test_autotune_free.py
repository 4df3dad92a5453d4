"""Autotuning without a GPU: nothing is measured, the first configuration is taken."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvtrace.converters.profile.autotune import read_choices, untried_text
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import ROOT, run_with, versions
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = ROOT / "tests" / "support" / "tuned_program.py"


class Tuned:
    """What a program saw, and its trace."""

    def __init__(self, version: str, folder: Path) -> None:
        done = run_with(
            version, [str(PROGRAM)], folder / "cache", fresh=True, KVTRACE=str(folder / "out"),
            KVTRACE_COMPILE="ttir",
        )  # fmt: skip
        self.seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        self.errors = done.stderr
        self.trace = open_trace(folder / "out")
        self.cached = [path.name for path in (folder / "cache").rglob("*.autotune.json")]


@pytest.fixture(scope="module", params=versions())
@needs("process")
def tuned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return Tuned(request.param, tmp_path_factory.mktemp("tuned"))


@pytest.mark.process
def test_the_first_configuration_that_compiles_is_taken(tuned: Tuned) -> None:
    output = tuned.seen
    assert output["first"] == [128, 12.0]
    assert output["that compiles"] == [256, 12.0]
    assert output["own benchmark"] == [64, 12.0]
    assert output["graph"] == [64, 12.0]
    assert output["heuristics"] == [4, 1.0]
    assert output["measured"] == []


@pytest.mark.process
def test_configurations_are_pruned_by_the_programs_hooks(tuned: Tuned) -> None:
    assert tuned.seen["pruned"] == [256, 12.0]
    assert tuned.seen["by a model"] == [256, 12.0]


@pytest.mark.process
def test_autotuner_hooks_run_as_on_a_device(tuned: Tuned) -> None:
    # on a device, trials leave what is reset at zero, and what is restored as it was
    assert tuned.seen["reset"] == [64, 2.0]
    assert tuned.seen["restored"] == [64, 12.0]
    assert tuned.seen["hooks of a configuration"] == [64, 1.0]
    assert tuned.seen["hooked"] == ["pre", "post", "pre"]  # around the trial, and after all


@pytest.mark.process
def test_tuning_makes_no_launches(tuned: Tuned) -> None:
    assert set(tuned.trace.table("launches")["phase"].to_pylist()) == {"run"}
    assert tuned.trace.table("launches").num_rows == 23 + 8 * 3


@pytest.mark.process
def test_launches_of_a_kernel_that_other_threads_tune_all_run(tuned: Tuned) -> None:
    assert tuned.seen["in threads"] == [[], "JITFunction"]


@pytest.mark.process
def test_an_unmeasured_choice_is_not_cached_on_disk(tuned: Tuned) -> None:
    assert tuned.seen["cached"] == [64, 12.0]
    assert tuned.cached == []


@pytest.mark.process
def test_benchmark_calls_its_function_once_and_is_reported(tuned: Tuned) -> None:
    assert tuned.seen["times"] == [1.0, [1.0, 1.0], [1.0], 1.0, 1.0, [1.0, 1.0, 1.0]]
    assert tuned.seen["calls"] == 6
    rows = plain_rows(tuned.trace.table("messages"))
    (text,) = (row["text"] for row in rows if row["code"] == "not-measured")
    assert "each gets the time 1 ms" in text


@pytest.mark.process
def test_the_program_ends_without_output(tuned: Tuned) -> None:
    assert "Exception ignored" not in tuned.errors
    assert "active drivers" not in tuned.errors


@pytest.mark.process
def test_each_tuning_has_its_key_its_choice_and_what_was_left_out(tuned: Tuned) -> None:
    choices = read_choices(tuned.trace, tuned.trace.runs)

    valid = "the first valid one, as nothing is timed without a GPU"
    assert {(choice.kernel, choice.arguments) for choice in choices} >= {
        ("add", "n=300, x float32, total float32"),
        ("add", "n=401, x float32, total float32"),
    }
    texts = [choice.why for choice in choices]
    assert f"chose BLOCK=128 ({valid}); BLOCK=64, BLOCK=256 not tried" in texts
    for hook in ("early_config_prune", "perf_model"):
        pruned = f"chose BLOCK=256 ({valid}); BLOCK=64 left out by {hook}; BLOCK=128 not tried"
        assert texts.count(pruned) == 1
    assert f"chose num_warps=4 ({valid}); num_warps=8 not tried" in texts
    assert "add: BLOCK=64, BLOCK=256 were not tried and not judged" in untried_text(
        tuned.trace, tuned.trace.runs
    )
    (failed,) = (text for text in texts if "failed" in text)
    assert failed.startswith(f"chose BLOCK=256 ({valid}); BLOCK=32 failed with Compile")
