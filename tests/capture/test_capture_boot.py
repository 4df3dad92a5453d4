"""The autostart: what it does to a Python process, and what it must not do."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

REPORT = """
import os, sys
heavy = {"numpy", "pyarrow", "typing", "dataclasses", "pathlib", "torch", "re"} & set(sys.modules)
print(sorted(heavy), os.environ.get("KVTRACE"), "kvtrace" in sys.modules)
"""


def report(autostarting, folder, *flags, **variables):
    done = autostarting.run(*flags, "-c", REPORT, folder=folder, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_without_the_variable_kvtrace_is_not_imported(autostarting, tmp_path):
    assert report(autostarting, tmp_path).endswith("None False")


@pytest.mark.smoke
def test_with_the_variable_nothing_heavy_is_imported_and_no_file_is_created(autostarting, tmp_path):
    without = report(autostarting, tmp_path).split("]")[0]
    found = report(autostarting, tmp_path, KVTRACE="out")
    assert found == f"{without}] {tmp_path}/out True"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("flag", ["-I", "-E", "-s"])
def test_autostart_works_with_pythons_isolating_flags(autostarting, tmp_path, flag):
    assert report(autostarting, tmp_path, flag, KVTRACE="out").endswith("True")


@pytest.mark.parametrize("value", ["0", "off", "no"])
def test_autostart_can_be_switched_off(autostarting, tmp_path, value):
    assert f"{value} True" in report(autostarting, tmp_path, KVTRACE=value)
    done = autostarting.run(
        "-c",
        "import sys, kvtrace._boot as b; print(b.out, len([f for f in sys.meta_path if "
        "type(f).__module__ == 'kvtrace._boot']))",
        folder=tmp_path,
        KVTRACE=value,
    )
    assert done.stdout.split() == ["None", "0"]


def test_program_starts_in_a_removed_working_directory(autostarting, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir {gone}; exec {autostarting.python} -c 'print(1)'"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=gone,
        env={"KVTRACE": "out", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "1"
    assert "Traceback" not in done.stderr


WATCH = """
import sys, types, importlib.util
sys.path.insert(0, {folder!r})
from kvtrace import _boot
heard = []
_boot._imported = heard.append
import triton
spec = triton.__spec__
print(heard, type(spec.loader).__name__, type(triton.__loader__).__name__, triton.value)
print(importlib.util.find_spec("triton.inner") is not None, heard)
"""


def test_import_of_a_watched_library_is_unchanged_and_reported_afterwards(autostarting, tmp_path):
    # given a library by the name that is waited for
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("value = __spec__.loader.name\n")
    (tmp_path / "triton" / "inner.py").write_text("")
    # when it is imported, then it has its own loader already while it runs
    done = autostarting.run(
        "-c", WATCH.format(folder=str(tmp_path)), folder=tmp_path, KVTRACE="out"
    )
    assert done.stdout.splitlines() == [
        "['triton'] SourceFileLoader SourceFileLoader triton",
        "True ['triton']",
    ], done.stderr


def test_failing_import_of_a_watched_library_raises_its_own_error(autostarting, tmp_path):
    (tmp_path / "triton.py").write_text("raise ImportError('its own')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import triton"
    done = autostarting.run("-c", code, folder=tmp_path, KVTRACE="out")
    assert done.stderr.splitlines()[-1] == "ImportError: its own"
    assert done.stderr.count("Error") == 2  # the one line of the source, and the one that it gives


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("__version__ = '3.4.0'", "Triton 3.4.0 cannot be recorded, only 3.5 and newer can"),
        ("", "Triton of unknown version cannot be recorded"),
    ],
)
def test_older_triton_is_reported_in_one_sentence(autostarting, tmp_path, source, said):
    (tmp_path / "triton.py").write_text(source)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import triton; print('went on')"
    done = autostarting.run("-c", code, folder=tmp_path, KVTRACE="out")
    assert done.stdout.strip() == "went on"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kvtrace: {said}")


def test_unknown_fork_of_triton_is_reported_in_one_warning(autostarting, tmp_path):
    (tmp_path / "triton.py").write_text("__version__ = '99.0'")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import triton; print('went on')"
    done = autostarting.run("-c", code, folder=tmp_path, KVTRACE="out")
    assert done.stdout.strip() == "went on"
    assert done.stderr.count("kvtrace:") == 1


@pytest.mark.process
def test_importing_kvtrace_imports_next_to_nothing():
    code = "import os, sys; old = set(sys.modules); import kvtrace; print(set(sys.modules) - old)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "{'kvtrace'}"
