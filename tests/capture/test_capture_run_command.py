"""`kvtrace run`: the program runs as python would run it, and is recorded."""

import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.contents import first_contents
from kvtrace.schema.trace import open_trace
from tests.support.small_disk import read_only

__all__ = ["read_only"]

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import os, sys
import beside
print(sys.argv, __name__, __file__, __package__)
print(sys.path[0])
print(vars(sys.modules["__main__"]) is globals())
print(sorted(k for k in os.environ if k.startswith("KVTRACE_") and k != "KVTRACE_GROUP"))
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def scripts(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    (folder / "beside.py").write_text("")
    return folder


def inside(*arguments, folder):
    """Run it where no autostart line is installed, so inside kvtrace's own process."""
    code = (
        "import sys; from kvtrace.cli import run_program; run_program._autostarts = lambda: False; "
        "from kvtrace.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "run", *map(str, arguments)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
    )


def test_a_script_sees_what_python_would_show_it(autostarting, scripts, tmp_path):
    # given what plain python shows
    plain = autostarting.run(scripts / "script.py", "3", "--help", "-o", folder=tmp_path)
    # when it runs with the autostart line (in its own process) and without (inside ours)
    command = ("-o", "out", "--kernels", "*", scripts / "script.py", "3", "--help", "-o")
    started = autostarting.run("-m", "kvtrace", "run", *command, folder=tmp_path)
    within = inside(*command, folder=tmp_path)
    # then both see the same, but for the variables
    assert plain.returncode == started.returncode == within.returncode == 3
    assert started.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]
    assert within.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3], within.stderr
    assert "KVTRACE_KERNELS" in started.stdout


def test_a_module_runs_by_its_name(autostarting, scripts):
    for done in (
        autostarting.run("-m", "kvtrace", "run", "-m", "script", "4", folder=scripts),
        inside("-m", "script", "4", folder=scripts),
    ):
        assert done.returncode == 4, done.stderr
        assert "__main__" in done.stdout


@pytest.mark.parametrize("where", ["started", "inside"])
def test_an_exception_is_shown_as_pythons(autostarting, scripts, where):
    (scripts / "fails.py").write_text("def f():\n    raise KeyError('x')\nf()\n")
    if where == "started":
        done = autostarting.run("-m", "kvtrace", "run", "fails.py", folder=scripts)
    else:
        done = inside("fails.py", folder=scripts)
    assert done.returncode == 1
    assert "KeyError: 'x'" in done.stderr
    assert done.stderr.count("File ") == 2


def test_missing_script_is_reported_in_one_sentence(autostarting, tmp_path):
    done = autostarting.run("-m", "kvtrace", "run", "nothing.py", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "kvtrace: there is no script 'nothing.py' to run\n"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("file", "is no folder"),
        ("file/out", "is no folder"),
        ("link", "is no folder"),
        ("/proc/none/out", "No such file or directory"),
        ("mounted", "Read-only file system"),
        ("mounted/out", "Read-only file system"),
    ],
)
def test_folder_that_cannot_be_written_to_is_refused_before_the_program_starts(
    autostarting, tmp_path, read_only, output, reason
):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nothing")
    (tmp_path / "mounted").mkdir()
    (tmp_path / "s.py").write_text("print('started')")
    if output.startswith("mounted"):
        read_only(tmp_path / "mounted")
    done = autostarting.run("-m", "kvtrace", "run", "-o", output, "s.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kvtrace: {tmp_path / output} cannot be written to (")
    assert done.stderr.endswith(
        f"{reason}), so the program was not started; name another folder with -o\n"
    )


def test_folder_for_another_process_that_cannot_be_written_to_is_refused(autostarting, tmp_path):
    (tmp_path / "file").write_text("")
    done = autostarting.run("-m", "kvtrace", "run", "-o", "file", "--pid", "1", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "is no folder), so process 1 is not recorded; name another folder with -o\n"
    )


def test_folder_of_the_variable_that_cannot_be_written_to_keeps_the_exit_status(
    autostarting, tmp_path, read_only
):
    (tmp_path / "mounted").mkdir()
    read_only(tmp_path / "mounted")
    script = tmp_path / "s.py"
    script.write_text("import sys, kvtrace; kvtrace.mark('one'); print('started'); sys.exit(7)")
    done = autostarting.run("s.py", folder=tmp_path, KVTRACE="mounted")
    assert (done.returncode, done.stdout) == (7, "started\n")
    (line,) = (line for line in done.stderr.splitlines() if "no kernel was launched" not in line)
    assert line.startswith(f"kvtrace: recording has ended: the trace in {tmp_path / 'mounted'} ")
    assert "(Read-only file system)" in line


def test_python_as_script_is_refused(autostarting, tmp_path):
    done = autostarting.run("-m", "kvtrace", "run", "--", "python3", "s.py", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "kvtrace: python3 is Python itself, which runs the program anyway"
    )


def test_missing_options_have_the_values_of_the_environment(autostarting, tmp_path):
    script = tmp_path / "s.py"
    script.write_text("import os; print(os.environ['KVTRACE_DEVICE'], os.environ['KVTRACE_MODE'])")
    said = {"KVTRACE_DEVICE": "cpu", "KVTRACE_MODE": "timeline"}
    command = ("-m", "kvtrace", "run", "--mode", "ops", "s.py")
    done = autostarting.run(*command, folder=tmp_path, **said)
    assert done.stdout == "cpu ops\n"


def test_invalid_option_value_is_reported_in_one_sentence(autostarting, tmp_path):
    done = autostarting.run("-m", "kvtrace", "run", "--mode", "x", "s.py", folder=tmp_path)
    assert done.returncode == 2
    assert "the setting mode has to be one of launch, timeline, ops" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.smoke
def test_launches_are_recorded_with_the_options(autostarting, program, tmp_path):
    pytest.importorskip("triton")
    done = autostarting.run(
        "-m",
        "kvtrace",
        "run",
        "-o",
        "here",
        "--no-source",
        "--tensors",
        "all",
        program,
        "plain",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "here")
    assert trace.table("launches").num_rows == 3
    (kernel,) = trace.table("kernels", columns=["source_artifact", "files"]).to_pylist()
    assert kernel["source_artifact"] is None
    assert [file["artifact"] for file in kernel["files"]] == [None]
    (call,) = trace.table("calls").to_pylist()
    held = first_contents(trace, trace.runs)[trace.runs[0].run_id, call["call_id"]]
    first = trace.artifact(held[0].artifact)
    assert first is not None
    assert len(first) == 400
    out = trace.artifact(held[2].artifact)
    assert out is not None  # as it was before the launch, whatever that was
    assert len(out) == 400
