"""run.py of a suite, as users without kvtrace's command line start it."""

import json
import os
from pathlib import Path

import pytest

from kvtrace.addons.suite.results import result_of
from tests.addons.suite.small_suite import small_suite
from tests.support.tiers import needs
from tests.support.tree import ROOT
from tests.support.warm_python import warm_python


@pytest.fixture(scope="module")
@needs("process")
def suite(tmp_path_factory) -> Path:
    return small_suite(tmp_path_factory.mktemp("run"))


def run(suite, tmp_path, *words, **variables):
    """Run the suite; with KVTRACE, kvtrace's evaluator stands for the GPU."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return warm_python().run(suite / "run.py", *words, folder=tmp_path, environment=environment)


def test_calls_are_launched_in_the_order_of_the_suite(suite, tmp_path):
    done = run(suite, tmp_path, "--json", "result.json", KVTRACE=str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    result = result_of(json.loads((tmp_path / "result.json").read_text()))
    names = [call.name for call in result.calls]
    assert names == sorted(names)
    assert len(names) == 4
    assert result.summary["calls"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--calls", "none"), "run.py: no call matches none; there are 001-added"),
        (("--rounds", "0"), "run.py: error: --rounds has to be at least 1"),
    ],
)
def test_bad_arguments_get_a_sentence(suite, tmp_path, words, message):
    done = run(suite, tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(message)


def test_without_a_gpu_and_without_kvtrace_it_says_what_to_do(suite, tmp_path):
    done = run(suite, tmp_path, CUDA_VISIBLE_DEVICES="")
    assert done.returncode != 0
    assert "kvtrace run -o out/" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
