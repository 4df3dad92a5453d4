"""The example programs as a user starts them: by the variable alone, each in its own process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from tests.support.warm_python import warm_python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: Forward 7 a layer, backward 14 a layer; norm, head and loss 8 more.
LAUNCHES_A_STEP = 2 * (7 + 14) + 8
STEPS = 4


def run(*command, folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=250,
    )


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of compiled kernels that starts empty: what is captured was compiled from here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def run_warm(script, *arguments, folder, **variables):
    """Run in a Python that has imported torch already."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    script, environment = EXAMPLES / script, kept | variables
    return warm_python().run(
        script, *arguments, folder=folder, environment=environment, timeout=250
    )


def capture(script, *arguments, folder):
    done = run_warm(script, *arguments, folder=folder, KVTRACE="out")
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def kvtrace(capsys, monkeypatch):
    """Run the command line in this process, from a folder: code, output, complaints."""

    def start(*arguments, folder):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=printed.out, stderr=printed.err)

    return start


def line_of(script, text):
    (line,) = [
        number
        for number, line in enumerate((EXAMPLES / script).read_text().splitlines(), 1)
        if text in line
    ]
    return line


@pytest.fixture(scope="module")
def trained(cache, tmp_path_factory):
    """Some steps of training, compiled and captured: the folder and what the program printed."""
    folder = tmp_path_factory.mktemp("trained")
    script = EXAMPLES / "train.py"
    done = run(sys.executable, script, "--steps", str(STEPS), folder=folder, KVTRACE="out")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


@pytest.mark.process
def test_training_example_is_recorded_completely_and_its_loss_falls(trained):
    folder, printed = trained
    first, last = (float(part) for part in printed.splitlines()[-1].rpartition(":")[2].split("->"))
    assert last < first
    trace = open_trace(folder / "out")
    assert trace.table("launches").num_rows == STEPS * LAUNCHES_A_STEP
    assert set(trace.table("kernels").column("name").to_pylist()) == {
        "attention_backward_key_value",
        "attention_backward_query",
        "attention_forward",
        "cross_entropy_backward",
        "cross_entropy_forward",
        "layer_norm_backward_input",
        "layer_norm_backward_weight",
        "layer_norm_forward",
        "matmul_kernel",
    }
    assert set(trace.table("messages").column("level").to_pylist()) <= {"info"}


@pytest.mark.process
def test_training_twice_gives_the_same_losses_and_an_empty_diff(trained, kvtrace, tmp_path):
    folder, printed = trained
    # the first run compiled its kernels, this one finds them in the cache
    again = capture("train.py", "--steps", str(STEPS), folder=tmp_path).stdout
    assert again == printed
    done = kvtrace("diff", folder / "out", tmp_path / "out", "--exit-code", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_training_kernels_have_no_access_out_of_bounds(trained, kvtrace):
    folder, _ = trained
    done = kvtrace("sanitize", "out", "--json", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [
        item for item in json.loads(done.stdout)["verdicts"] if item["verdict"] == "violation"
    ] == []


@pytest.mark.process
@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU nothing is missing")
def test_training_without_gpu_and_capture_says_how_to_run_it(tmp_path):
    done = run_warm("train.py", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "KVTRACE=out python" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.process
def test_sanitizer_names_the_line_of_the_missing_mask(kvtrace, tmp_path):
    # given the program, which runs to its end without complaint from itself
    printed = capture("out_of_bounds.py", folder=tmp_path).stdout
    assert "the result is right" in printed
    # when its trace is sanitized
    done = kvtrace("sanitize", "out", "--json", folder=tmp_path)
    # then the one violation is the load without its mask, in the last of four blocks
    assert done.returncode == 1, done.stderr
    (found,) = [
        item for item in json.loads(done.stdout)["verdicts"] if item["verdict"] == "violation"
    ]
    assert found["rule"] == "out-of-bounds"
    assert found["kernel"] == "double"
    assert found["arg"] == "source"
    assert Path(found["file"]) == EXAMPLES / "out_of_bounds.py"
    assert found["line"] == line_of("out_of_bounds.py", "the defect")
    assert list(found["program"]) == [3, 0, 0]
    assert found["address_offset"] == 1000 * 4


@pytest.mark.process
def test_diff_of_two_versions_names_the_kernel_and_nothing_else(kvtrace, tmp_path):
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
        capture(f"matmul_{version}.py", folder=tmp_path / version)
    done = kvtrace("diff", "v1/out", "v2/out", "--json", "--exit-code", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "matmul_kernel" in done.stdout
    json.loads(done.stdout)
