"""The last line of a program that was recorded without launching a kernel."""

import os
import pty
import subprocess

import pytest

from kvtrace.capture.closing_line import _needs_gpu

pytestmark = pytest.mark.process

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def clear(x):
    tl.store(x, 0.0)
"""
LAUNCH = f"{KERNEL}\nclear[(1,)](torch.ones(1))\n"
NOTHING = "kvtrace: no kernel was launched, so nothing is in "
NO_GPU = "this machine has no GPU"


def closing_lines(autostarting, folder, program, *arguments, **variables):
    """Run a program as a script; return its exit code and the lines of kvtrace."""
    (folder / "program.py").write_text(program)
    variables = {"KVTRACE": "out", "KVTRACE_COMPILE": "ttir", **variables}
    done = autostarting.run_warm("program.py", *arguments, folder=folder, **variables)
    lines = [line for line in done.stderr.splitlines() if line.startswith("kvtrace:")]
    return done.returncode, lines


@pytest.mark.smoke
@pytest.mark.parametrize(
    "program",
    [
        'import torch\ntorch.nn.Linear(2, 2).to("cuda")',
        f'{KERNEL}\ntorch.ones(1, device="cuda")',
        "import torch\nif not torch.cuda.is_available():\n    raise SystemError('needs a GPU')",
        f'{LAUNCH}\ntry:\n    torch.ones(1).cuda()\nexcept Exception as error:\n'
        '    raise ValueError("setup failed") from error',
    ],
    ids=["model", "tensor", "own error", "cause"],
)  # fmt: skip
def test_program_that_ends_for_want_of_a_gpu_names_the_setting(program, autostarting, tmp_path):
    code, lines = closing_lines(autostarting, tmp_path, program)
    assert code == 1
    (line,) = lines
    assert NO_GPU in line
    assert "KVTRACE_DEVICE=cpu" in line


def test_program_with_a_path_for_the_cpu_sees_no_gpu(autostarting, tmp_path):
    program = f"""{KERNEL}
try:
    x = torch.ones(1, device="cuda")
except AssertionError:
    x = torch.ones(1)
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
clear[(1,)](x)
"""
    assert closing_lines(autostarting, tmp_path, program) == (0, [])


@pytest.mark.smoke
def test_program_that_launches_nothing_says_so(autostarting, tmp_path):
    code, (line,) = closing_lines(autostarting, tmp_path, KERNEL)
    assert code == 0
    assert line.startswith(f"{NOTHING}{tmp_path}/out; {NO_GPU}")
    code, (line,) = closing_lines(autostarting, tmp_path, "import torch")
    assert "did not import Triton" in line
    code, (line,) = closing_lines(autostarting, tmp_path, LAUNCH, KVTRACE_KERNELS="other*")
    assert line.startswith("kvtrace: no kernel that KVTRACE_KERNELS=other* selects was launched")
    assert NO_GPU not in line
    code, (line,) = closing_lines(autostarting, tmp_path, "import json")
    assert line.startswith(NOTHING)
    code, lines = closing_lines(autostarting, tmp_path, KERNEL, KVTRACE_DEVICE="cpu")
    assert "kernels of Triton alone are recorded, not torch's operators" in lines[-1]


def test_program_that_an_exception_ends_before_a_launch_says_so(autostarting, tmp_path):
    code, (line,) = closing_lines(autostarting, tmp_path, "import torch\nraise OSError('no file')")
    assert (code, line) == (1, f"{NOTHING}{tmp_path}/out: OSError ended the program")


def test_recording_that_the_program_starts_says_so_too(autostarting, tmp_path):
    program = f'import kvtrace\nkvtrace.start("own")\n{KERNEL}'
    code, (line,) = closing_lines(autostarting, tmp_path, program, KVTRACE="")
    assert (code, line.startswith(f"{NOTHING}{tmp_path}/own")) == (0, True)


@pytest.mark.parametrize(
    ("program", "arguments", "variables"),
    [
        (LAUNCH, [], {}),
        ("import torch", ["--help"], {}),
        ("import torch", [], {"RANK": "1"}),
        ("import torch", [], {"KVTRACE_GROUP": "1-2"}),
        (f"import os, torch\nif os.fork() == 0:\n{LAUNCH.replace(chr(10), chr(10) + '    ')}\n"
         "else:\n    os.wait()", [], {}),
    ],
    ids=["launches", "help", "second rank", "started by another", "child launches"],
)  # fmt: skip
def test_program_that_launches_elsewhere_or_need_not_says_nothing(
    program, arguments, variables, autostarting, tmp_path
):
    _, lines = closing_lines(autostarting, tmp_path, program, *arguments, **variables)
    assert lines == []


@pytest.mark.parametrize("session", [True, False], ids=["typed", "of a script"])
def test_program_without_torch_says_so_only_where_it_was_typed(session, autostarting, tmp_path):
    ours, terminal = pty.openpty()
    subprocess.run(
        [autostarting.python, "-c", "import json"],
        cwd=tmp_path,
        env=autostarting.environment({"KVTRACE": "out"}),
        stdin=terminal,
        stderr=terminal,
        start_new_session=session,
        timeout=300,
        check=True,
    )
    os.write(terminal, b"end\n")
    os.close(terminal)
    printed = os.read(ours, 10_000).decode()
    os.close(ours)
    assert printed.startswith(NOTHING if session else "end")


def test_errors_about_a_gpu_are_told_by_their_texts():
    def error_from(cause: BaseException) -> Exception:
        error = ValueError("setup")
        error.__cause__ = cause
        return error

    assert _needs_gpu(RuntimeError("Found no NVIDIA driver on your system."))
    assert _needs_gpu(error_from(RuntimeError("No CUDA GPUs are available")))
    assert _needs_gpu(ExceptionGroup("workers", [RuntimeError("Cannot access accelerator device")]))
    assert not _needs_gpu(error_from(OSError("no such file: gpunames.txt")))
    assert not _needs_gpu(KeyboardInterrupt())
