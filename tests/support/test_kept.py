"""What is recorded once: made again when something of it changes, and by one worker alone."""

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.support import kept as kept_module
from tests.support.kept import _test_modules, kept
from tests.support.tree import ROOT

MADE: list[Path] = []


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    MADE.clear()
    monkeypatch.setenv("KVTRACE_TEST_TRACES", str(tmp_path))
    return tmp_path


def build(folder):
    MADE.append(folder)
    (folder / "number.txt").write_text(str(len(MADE)))


def test_kept_folder_is_built_once_and_copied_for_each_test(tmp_path):
    first = kept(build, tmp_path / "first")
    (first / "number.txt").write_text("changed")

    assert (kept(build, tmp_path / "second") / "number.txt").read_text() == "1"
    assert len(MADE) == 1
    assert not MADE[0].is_relative_to(ROOT)  # where git would be asked for the checkout


def test_changed_source_rebuilds_the_kept_folder(tmp_path):
    source = tmp_path / "program.py"
    for text in ("one", "one", "two"):
        source.write_text(text)
        last = kept(build, tmp_path / f"out{len(list(tmp_path.iterdir()))}", source)

    assert (last / "number.txt").read_text() == "2"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 counts by thread")
def test_workers_read_imports_while_the_collector_switches_threads():
    """As Hypothesis has it: its callback is Python, and lets another thread parse in between."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    before = gc.get_threshold()
    gc.callbacks.append(give_way := lambda *_: time.sleep(0))
    gc.set_threshold(50, 2, 2)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda path: list(_test_modules(path)), paths))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(give_way)

    assert "tests.support.kept" in found[paths.index(Path(__file__))]


def test_workers_wait_for_the_worker_that_builds_the_kept_folder(tmp_path):
    at_once = Barrier(4)

    def worker(number):
        at_once.wait()
        return (kept(build, tmp_path / f"out{number}") / "number.txt").read_text()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(worker, range(4))) == {"1"}


def test_failed_build_leaves_no_kept_folder(tmp_path):
    def fails(folder):
        (folder / "half.txt").write_text("")
        raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            kept(fails, tmp_path / "out")
    assert list(tmp_path.rglob("half.txt")) == []


def test_imported_files_of_a_test_file_are_part_of_the_key(tmp_path):
    helper = ROOT / "tests" / "converters" / "launch_pages.py"

    assert ROOT / "tests" / "converters" / "launch_kernels.py" in kept_module._imported(helper)
