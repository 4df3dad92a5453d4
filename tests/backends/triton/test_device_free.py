"""Launches without a GPU, in every version of Triton that there is to test with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, ROOT, run_with, versions
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = ROOT / "tests" / "support" / "gpu_free_program.py"


@pytest.fixture(scope="module", params=versions())
@needs("process")
def output(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = run_with(request.param, [str(PROGRAM), "cuda:90"], tmp_path_factory.mktemp("triton"))
    return json.loads(done.stdout.splitlines()[-1])


def test_results_are_written_to_the_tensors(output: Any) -> None:
    assert output["device"] == "cpu"
    assert output["add"]
    assert all(output["dtypes"].values()), output["dtypes"]
    assert output["views"]
    assert output["tuple"]
    assert output["descriptors"]


def test_kernels_are_compiled_to_machine_code(output: Any) -> None:
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= set(output["stages"])
    assert 8 <= output["registers"] <= 255


@pytest.mark.process
def test_kernels_are_compiled_for_the_chosen_target(tmp_path: Path) -> None:
    done = run_with(INSTALLED, [str(PROGRAM), "hip:gfx942"], tmp_path)
    output = json.loads(done.stdout.splitlines()[-1])
    assert {"ttir", "amdgcn", "hsaco"} <= set(output["stages"])
    assert 1 <= output["registers"] <= 512
    assert output["add"]
    assert output["autotuned"]


@pytest.mark.process
def test_a_target_without_facts_is_replaced(tmp_path: Path) -> None:
    done = run_with(INSTALLED, [str(PROGRAM), "cuda:91"], tmp_path)
    output = json.loads(done.stdout.splitlines()[-1])
    (messages,) = (text for _, code, text in output["messages"] if code == "bad-target")
    assert "'cuda:91'" in messages
    assert "cuda:90" in messages
    assert "cubin" in output["stages"]


def test_an_access_out_of_bounds_is_reported_once_and_the_program_continues(output: Any) -> None:
    assert output["unmasked"]
    messages = [text for _, code, text in output["messages"] if code == "out-of-bounds"]
    assert len(messages) == 1
    (text,) = messages
    assert "kernel unmasked" in text
    lines = PROGRAM.read_text().splitlines()
    place = next(i for i, line in enumerate(lines, 1) if "tl.load(x + lanes))" in line)
    assert f"gpu_free_program.py:{place}: a load" in text
    assert "past the end of x of shape (1000,)" in text
    assert "in program (3, 0, 0)" in text


def test_autotuning_takes_the_first_configuration_that_compiles(output: Any) -> None:
    assert output["block"] == 128
    assert output["autotuned"]  # each launch once: the trial must not have added to it
    assert output["milliseconds"] > 0


def test_a_kernel_that_cannot_be_executed_raises_one_sentence(output: Any) -> None:
    assert "argument x is on device meta" in output["meta"]


def test_the_program_continues_after_its_recording(output: Any) -> None:
    assert output["goes on"]
    assert [code for _, code, _ in output["messages"]].count("device-free") == 1


STOPPED = """
import torch, triton, triton.language as tl
import kvtrace

@triton.jit
def add(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes) + 1)

x = torch.zeros(64, device="cuda")
add[(1,)](x, BLOCK=64)
kvtrace.stop()
add[(1,)](x, BLOCK=64)
print(x.sum().item())
"""


@pytest.mark.process
def test_program_without_gpu_continues_after_a_captured_block(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STOPPED)

    done = run_with(
        INSTALLED, [str(tmp_path / "program.py")], tmp_path, fresh=True,
        KVTRACE=str(tmp_path / "out"), KVTRACE_DEVICE="cpu",
    )  # fmt: skip

    assert done.stdout == "128.0\n"


DAEMON = """
import atexit, threading

@atexit.register  # before kvtrace's, so it runs after it
def last():
    go.set()
    thread.join(300)

import duckdb  # its bindings print what is left of them at the very end
import torch, triton, triton.language as tl
import kvtrace

duckdb.connect().sql("SELECT 1").fetchall()
kvtrace.start(OUT, device="cpu", sanitize="warn")

@triton.jit
def add(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes) + 1)

def launch():
    x = torch.zeros(64, device="cuda")
    add[(1,)](x, BLOCK=64)
    return x

def launch_late():
    go.wait()
    print(launch().sum().item(), flush=True)

launch()
go = threading.Event()
thread = threading.Thread(target=launch_late, daemon=True)
thread.start()
"""


@pytest.mark.process
def test_daemon_threads_launch_until_the_end_and_nothing_leaks(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(DAEMON.replace("OUT", repr(str(tmp_path / "out"))))

    done = run_with(INSTALLED, [str(tmp_path / "program.py")], tmp_path, fresh=True)

    assert done.stdout == "64.0\n", done.stderr
    assert "active drivers" not in done.stderr
    assert "leaked" not in done.stderr
