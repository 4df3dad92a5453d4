"""Triton's hash of its own files, remembered by what the files are."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from kvtrace.backends.triton import compiler_key
from tests.support.triton_versions import INSTALLED, run_with
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

#: Prints the key by way of kvtrace's hook, and the files that Triton's own function opens.
PROGRAM = """
import json, sys
import triton, triton.runtime.cache as cache
from kvtrace.backends.triton import compiler_key
from pathlib import Path
opened, plain = [], cache.triton_key.__wrapped__
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
replaced = compiler_key.install()
asked = cache.triton_key()
during = [each for each in opened if "libtriton" in each]
opened.clear()
own = plain()
folder = Path(triton.__file__).parent
known = {str(each) for each in compiler_key._files(folder)}
left = [each for each in opened if each.startswith(str(folder)) and "__pycache__" not in each]
replaced.undo()
print(json.dumps({"same": asked == own, "hashed": bool(during), "read": len(left),
                  "unknown": sorted(set(left) - known),
                  "restored": cache.triton_key.__wrapped__ is plain}))
"""


def _run_program(tmp_path: Path) -> Any:
    import json

    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = run_with(
        INSTALLED, [str(script)], tmp_path / "triton", XDG_CACHE_HOME=str(tmp_path / "home"),
        fresh=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.process
def test_the_second_process_reads_no_library_and_has_the_same_key(tmp_path: Path) -> None:
    first, second = _run_program(tmp_path), _run_program(tmp_path)
    assert first["same"]
    assert second["same"]
    assert first["hashed"]
    assert not second["hashed"]
    assert second["restored"]


@pytest.mark.process
def test_the_fingerprint_covers_every_file_that_triton_hashes(tmp_path: Path) -> None:
    hashed = _run_program(tmp_path)
    assert hashed["read"] > 10
    assert hashed["unknown"] == []


def test_a_changed_file_changes_the_fingerprint(tmp_path: Path) -> None:
    from kvtrace.backends.triton.compiler_key import fingerprint

    file = tmp_path / "compiler" / "code.py"
    file.parent.mkdir()
    file.write_text("one")
    os.utime(file, ns=(1, 1))
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    file.write_text("two")
    os.utime(file, ns=(1, 1))  # the same size and time, as a build may leave them
    assert fingerprint(tmp_path) != before


@pytest.mark.process
def test_an_unwritable_home_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder would be")
    assert _run_program(tmp_path)["same"]


def test_text_that_cannot_be_written_whole_leaves_no_file(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
    try:
        compiler_key.write_whole(tmp_path / "text", "longer than that")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_user_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / "text"
    compiler_key.write_whole(path, "ours")
    assert compiler_key.read_own(path) == "ours"
    assert compiler_key.read_own(tmp_path / "none") is None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert compiler_key.read_own(path) is None
