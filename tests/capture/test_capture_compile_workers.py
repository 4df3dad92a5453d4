"""What Inductor's worker processes compile is known in the process that they compile for."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from kvtrace.backends.compiled_kernels import handed_over
from kvtrace.backends.compiled_kernels.kernel_records import Compilation
from tests.capture.conftest import ROOT

pytest.importorskip("torch")
pytest.importorskip("triton")

ONE = Compilation(False, 5, 70, 1, (("ttir", 20), ("cubin", 30)), 2, 99)


def test_compilation_by_a_worker_is_recorded_with_all_its_times(autostarting, tmp_path):
    # given a program without a launch, which has a worker compile
    program = ROOT / "tests" / "support" / "worker_program.py"
    done = autostarting.run(program, folder=tmp_path, KVTRACE=str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    found = told["found"]
    # then what the worker heard is known here, once
    assert told["worker"] != told["own"]
    assert not found["cache_hit"]
    stages = dict(found["stages"])
    assert all(stages[name] > 0 for name in ("ttir", "ttgir", "llir", "ptx", "cubin"))
    assert found["duration"] >= sum(stages.values())
    assert told["again"] is None
    # and nothing is left
    assert list((tmp_path / "out").iterdir()) == []


def test_only_compilations_written_for_this_process_are_read(tmp_path):
    handed_over.hand_over(str(tmp_path), os.getpid(), "ours", ONE)
    handed_over.hand_over(str(tmp_path), 1, "theirs", ONE)
    assert handed_over.take(str(tmp_path), "theirs") is None
    assert handed_over.take(str(tmp_path), "ours") == ONE
    handed_over.clear(str(tmp_path))
    assert [path.name for path in (tmp_path / ".compilations").iterdir()] == ["1"]


def test_unreadable_compilation_file_is_ignored(tmp_path):
    handed_over.hand_over(str(tmp_path), os.getpid(), "key", ONE)
    (tmp_path / ".compilations" / str(os.getpid()) / "key.json").write_text('{"stages": 3}')
    assert handed_over.take(str(tmp_path), "key") is None


@pytest.mark.parametrize(
    ("file", "arguments", "process"),
    [
        ("/lib/torch/_inductor/compile_worker/__main__.py", ["--parent=12", "--workers=3"], 12),
        ("/lib/torch/_inductor/compile_worker/__main__.py", [], None),
        ("/home/train.py", ["--parent=12"], None),
        (None, ["--parent=12"], None),
    ],
)
def test_pid_of_the_parent_is_read_from_a_compile_workers_arguments(
    monkeypatch, file, arguments, process
):
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=file))
    assert handed_over.compiles_for(arguments) == process
