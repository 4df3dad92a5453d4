"""Launches without a GPU, in every version of Triton that there is to test with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, ROOT, run_with, versions

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("this machine has a GPU", allow_module_level=True)

PROGRAM = ROOT / "tests" / "support" / "gpu_free_program.py"


@pytest.fixture(scope="module", params=versions())
@needs("process")
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = run_with(request.param, [str(PROGRAM), "cuda:90"], tmp_path_factory.mktemp("triton"))
    return json.loads(done.stdout.splitlines()[-1])


def test_results_are_written_to_the_tensors(seen: Any) -> None:
    assert seen["device"] == "cpu"
    assert seen["add"]
    assert all(seen["dtypes"].values()), seen["dtypes"]
    assert seen["views"]
    assert seen["tuple"]
    assert seen["descriptors"]


def test_kernels_are_really_compiled(seen: Any) -> None:
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= set(seen["stages"])
    assert 8 <= seen["registers"] <= 255


@pytest.mark.process
def test_kernels_are_compiled_for_the_chosen_target(tmp_path: Path) -> None:
    done = run_with(INSTALLED, [str(PROGRAM), "hip:gfx942"], tmp_path)
    seen = json.loads(done.stdout.splitlines()[-1])
    assert {"ttir", "amdgcn", "hsaco"} <= set(seen["stages"])
    assert 1 <= seen["registers"] <= 512
    assert seen["add"]
    assert seen["autotuned"]


@pytest.mark.process
def test_a_target_without_facts_is_replaced(tmp_path: Path) -> None:
    done = run_with(INSTALLED, [str(PROGRAM), "cuda:91"], tmp_path)
    seen = json.loads(done.stdout.splitlines()[-1])
    (told,) = (text for _, code, text in seen["messages"] if code == "bad-target")
    assert "'cuda:91'" in told
    assert "cuda:90" in told
    assert "cubin" in seen["stages"]


def test_an_access_out_of_bounds_is_reported_once_and_the_program_continues(seen: Any) -> None:
    assert seen["unmasked"]
    told = [text for _, code, text in seen["messages"] if code == "out-of-bounds"]
    assert len(told) == 1
    (text,) = told
    assert "kernel unmasked" in text
    lines = PROGRAM.read_text().splitlines()
    place = next(i for i, line in enumerate(lines, 1) if "tl.load(x + lanes))" in line)
    assert f"gpu_free_program.py:{place}: a load" in text
    assert "past the end of x of shape (1000,)" in text
    assert "in program (3, 0, 0)" in text


def test_autotuning_takes_the_first_configuration_that_compiles(seen: Any) -> None:
    assert seen["block"] == 128
    assert seen["autotuned"]  # each launch once: the trial must not have added to it
    assert seen["milliseconds"] > 0


def test_a_kernel_that_cannot_be_executed_raises_one_sentence(seen: Any) -> None:
    assert "argument x is on device meta" in seen["meta"]


def test_the_program_continues_after_its_recording(seen: Any) -> None:
    assert seen["goes on"]
    assert [code for _, code, _ in seen["messages"]].count("device-free") == 1


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
def test_the_end_of_a_recording_is_not_that_of_the_program(tmp_path: Path) -> None:
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
    thread.join(60)

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
