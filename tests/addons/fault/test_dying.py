"""Last lines of recorded programs that an error of the GPU ends, and silence of all others."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from kvtrace.addons.fault import dying, starting
from kvtrace.addons.fault.dying import explain_failure, failure_lines, gpu_error
from kvtrace.addons.fault.suspects import _last_first, suspects
from kvtrace.capture import api
from kvtrace.schema.trace import open_trace
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.process

PROGRAM = """
import os, sys
import torch, triton, triton.language as tl
from kvtrace.addons.fault import dying

dying._PATIENCE = 90.0  # seconds, for machines on which many tests run

@triton.jit
def shifted(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes + 4096), mask=lanes < n)

@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)

def launch(kernels):
    x = torch.ones(100, device="cpu")
    if "shifted" in kernels:
        shifted[(2,)](x, torch.empty_like(x), 100, BLOCK=64)
    if "copied" in kernels:
        for n in (100, 90, 80):
            copied[(2,)](x, torch.empty_like(x), n, BLOCK=64)

def fail(error):
    if error == "fault":
        raise torch.AcceleratorError(FAULT)
    if error == "fault behind another":
        try:
            raise torch.AcceleratorError(FAULT)
        except torch.AcceleratorError as fault:
            raise RuntimeError("the engine has died") from fault
    raise {"own": RuntimeError("misaligned address"), "interrupt": KeyboardInterrupt}[error]

FAULT = "CUDA error: an illegal memory access was encountered\\nlaunches are asynchronous"
kernels, error = sys.argv[1:]
if error == "fault in a block":
    import kvtrace
    with kvtrace.capture(os.environ["OUT"]):
        launch(kernels)
        fail("fault")
if error == "fault after a second recording":
    import kvtrace
    kvtrace.stop()
    kvtrace.start(os.environ["OUT"])
    error = "fault"
launch(kernels)
child = os.fork()
if child == 0:
    launch("copied")
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
fail(error)
"""
#: Kernels that are launched and the exception that ends the program → exit code.
ENDINGS = {
    ("copied shifted", "fault"): 1,
    ("copied", "fault behind another"): 1,
    ("copied", "fault in a block"): 1,
    ("copied", "fault after a second recording"): 1,
    ("none", "fault"): 1,
    ("shifted", "own"): 1,
    ("shifted", "interrupt"): 130,
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Each program's folder and end; all have a child that launches and does not fail."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    environment = {key: text for key, text in os.environ.items() if not key.startswith("KVTRACE")}
    environment |= {"KVTRACE_COMPILE": "ttir", "TRITON_CACHE_DIR": str(folder / "cache")}

    def run(number, arguments):
        out = folder / str(number)
        recording = {"OUT": str(out)} | ({} if "block" in arguments[1] else {"KVTRACE": str(out)})
        done = warm_python().run(
            "program.py", *arguments, folder=folder, environment=environment | recording
        )
        return done, out

    return {arguments: run(number, arguments) for number, arguments in enumerate(ENDINGS)}


def parent_run(trace):
    return next(run for run in trace.runs if run.parent_run_id is None)


def last_lines(done):
    """The lines of kvtrace behind the traceback."""
    behind = done.stderr.rpartition("Error: ")[2].splitlines()
    return [line for line in behind if line.startswith("kvtrace: ")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_exit_code_is_the_programs_own(ended, ending):
    done, _ = ended[ending]
    assert done.returncode in (ENDINGS[ending], -2), done.stderr
    assert done.stderr.count("Traceback") == (2 if "behind" in ending[1] else 1)


def test_kernel_that_leaves_its_tensors_is_named(ended):
    done, out = ended["copied shifted", "fault"]
    first, named, judged, following = last_lines(done)
    assert first.startswith("kvtrace: an illegal memory access was encountered: recording does not")
    assert named.startswith("kvtrace: kernel shifted (program.py:11): load ends 15,988 bytes past")
    assert judged == (
        "kvtrace: 4 of 4 recorded calls judged within 90 s: 1 at fault, 3 proven to stay inside "
        "their tensors as recorded, 0 not decided"
    )
    run = parent_run(open_trace(out))
    assert run.sealed
    assert following == (
        "kvtrace: next: KVTRACE_FAULTS=on, to name what died; now: kvtrace sanitize "
        f"{out} --run {run.run_id}"
    )


def test_proof_of_all_calls_says_what_remains(ended):
    done, _ = ended["copied", "fault behind another"]
    _, judged, _ = last_lines(done)
    assert judged.startswith("kvtrace: 3 of 3 recorded calls judged within 90 s: 0 at fault, 3 pr")
    assert judged.endswith("or memory was freed before its kernel ran")


@pytest.mark.parametrize(
    "ending", [("none", "fault"), ("shifted", "own"), ("shifted", "interrupt")]
)
def test_other_ends_are_silent(ended, ending):
    done, _ = ended[ending]
    assert "recording does not" not in done.stderr
    assert "kvtrace sanitize" not in done.stderr


@pytest.mark.parametrize("error", ["fault in a block", "fault after a second recording"])
def test_recording_that_the_program_starts_is_explained_once(ended, error):
    done, _ = ended["copied", error]
    first, _judged, following = last_lines(done)
    assert "recording does not cause this" in first
    assert "kvtrace sanitize" in following


def test_kernel_launched_last_is_judged_first(ended):
    _, out = ended["copied shifted", "fault"]
    trace = open_trace(out)
    run = parent_run(trace)
    number, *results = suspects(trace, run)
    assert number == {"calls": 4}
    # n=80, a multiple of 16, is another variant than 90 and 100.
    assert [one["kernel"] for one in results] == ["copied", "copied", "shifted", "copied"]
    assert [one["verdict"] for one in results] == ["proven", "proven", "violation", "proven"]


def test_last_call_of_each_kernel_comes_before_other_calls():
    kernels = {0: 7, 1: 7, 2: 8, 3: 7, 4: 9}
    assert _last_first(kernels, np.array([0, 2, 1, 3, 0, 1])) == [1, 2, 4, 0, 3]


def test_time_limit_ends_the_judgment(ended, monkeypatch, capsys):
    _, out = ended["copied shifted", "fault"]
    monkeypatch.setattr(dying, "_PATIENCE", 0.01)
    run = parent_run(open_trace(out))
    session = SimpleNamespace(out=str(out), run_id=run.run_id)
    explain_failure(session, RuntimeError("Triton Error [CUDA]: misaligned address"))
    first, judged, following = capsys.readouterr().err.splitlines()
    assert first.startswith("kvtrace: misaligned address: recording does not cause this")
    assert judged == "kvtrace: no recorded call could be judged within 0 s"
    assert following.endswith(f"--run {run.run_id}")


def test_many_kernels_at_fault_are_counted_in_five_lines():
    faulty = {"verdict": "violation", "text": "x" * 500}
    results = [{"calls": 9}, *({"kernel": name, **faulty} for name in "abcd")]
    lines = list(failure_lines("misaligned address", "out", "run", results))
    assert len(lines) == 5
    assert max(map(len, lines)) < 260
    assert lines[3] == (
        "4 of 9 recorded calls judged within 5 s, the last launched first: 4 at fault (of 2 more "
        "kernels), 0 proven to stay inside their tensors as recorded, 0 not decided"
    )


def test_command_does_not_ask_for_what_is_set(monkeypatch):
    monkeypatch.setattr(starting, "_asked_for", True)
    assert list(failure_lines("misaligned address", "out", "run", []))[-1] == (
        "next: kvtrace sanitize out --run run"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA error: device-side assert triggered", "device-side assert triggered"),
        ("HIP error: unspecified launch failure", "unspecified launch failure"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS: ...", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("hipErrorLaunchFailure", "hipErrorLaunchFailure"),
        ("cudaErrorMisalignedAddress: misaligned address", "cudaErrorMisalignedAddress"),
        ("CUDA error: out of memory", None),
        ("CUDA error: invalid configuration argument", None),
        ("misaligned address in the linker script", None),
    ],
)  # fmt: skip
def test_errors_of_the_gpu_are_told_by_their_text(text, expected):
    assert gpu_error(RuntimeError(text)) == expected


def test_error_of_the_gpu_is_found_in_groups_and_contexts():
    fault = RuntimeError("CUDA error: misaligned address")
    cyclic = ValueError("first")
    cyclic.__context__ = ExceptionGroup("workers", [KeyError("other"), fault])
    fault.__context__ = cyclic
    assert gpu_error(cyclic) == "misaligned address"
    fault.args = ("something else",)
    assert gpu_error(cyclic) is None


def test_trace_that_cannot_be_read_has_its_command(tmp_path, capsys):
    session = SimpleNamespace(out=str(tmp_path), run_id="none")
    explain_failure(session, RuntimeError("CUDA error: misaligned address"))
    assert [line[:36] for line in capsys.readouterr().err.splitlines()] == [
        "kvtrace: misaligned address: recordi",
        "kvtrace: no recorded call could be j",
        "kvtrace: next: KVTRACE_FAULTS=on, to",
    ]


def test_own_failure_is_one_line(monkeypatch, capsys):
    def fail(_session, _error):
        raise OSError("no more processes")

    monkeypatch.setattr(dying, "explain_failure", fail)
    api._say_last(SimpleNamespace(out="out", has_launched_nothing=False), RuntimeError())
    assert capsys.readouterr().err == (
        "kvtrace: the program's end is not explained: OSError: no more processes\n"
    )
