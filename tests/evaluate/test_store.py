"""The cache on disk: found again, and never in the way."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvtrace.evaluate import store as store_module
from kvtrace.evaluate.modules import read
from kvtrace.evaluate.store import Store

KERNEL = """
"builtin.module"() ({
  "tt.func"() <{function_type = () -> (), sym_name = "kernel", sym_visibility = "public"}> ({
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def written(folder, content=b"content", entry=("an", 1.5, b"entry")):
    store = Store(folder)
    store.put("kind", content, lambda: entry)
    store.flush()
    (path,) = folder.glob("*.entry")
    return path


def test_what_one_store_wrote_another_finds(folder):
    written(folder)
    assert Store(folder).get("kind", b"content") == ("an", 1.5, b"entry")
    assert Store(folder).get("other kind", b"content") is None
    assert Store(folder).get("kind", b"other content") is None


def test_an_entry_is_there_before_it_is_written_and_without_a_folder(folder):
    for store in (Store(folder), Store(None)):
        store.put("kind", b"content", lambda: ("entry",))
        assert store.get("kind", b"content") == ("entry",)
        store.flush()
        assert store.get("kind", b"content") == ("entry",)
    store.forget()
    assert store.get("kind", b"content") is None


def test_what_cannot_be_made_is_no_entry_while_it_waits(folder):
    def refuse():
        raise ValueError("this has no name on disk")

    store = Store(folder)
    store.put("kind", b"content", refuse)
    assert store.get("kind", b"content") is None


def test_many_that_are_pending_are_written_without_being_asked(folder):
    store = Store(folder)
    for number in range(64):
        store.put("kind", str(number).encode(), lambda number=number: number)
    assert len(list(folder.glob("*.entry"))) == 64


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "longer"])
def test_a_damaged_entry_is_none_and_is_replaced(folder, damage):
    path = written(folder)
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-1],
            "flipped": data[:-1] + bytes([data[-1] ^ 1]),
            "empty": b"",
            "text": b"not ours at all",
            "longer": data + b"\0",
        }[damage]
    )
    assert Store(folder).get("kind", b"content") is None
    written(folder)
    assert Store(folder).get("kind", b"content") == ("an", 1.5, b"entry")


def test_an_entry_under_another_name_is_none(folder):
    path = written(folder, b"first", ("first",))
    name = store_module._path(folder, store_module._key("kind", b"second"))
    path.rename(name)
    assert Store(folder).get("kind", b"second") is None


def test_another_version_finds_nothing(folder, monkeypatch):
    monkeypatch.setattr(store_module, "_changed_at", lambda: 0)  # somebody may edit a file now
    store_module._stamp.cache_clear()
    written(folder)
    for name, value in (("FORMAT", -1), ("__version__", "another")):
        with monkeypatch.context() as patch:
            patch.setattr(store_module, name, value)
            store_module._stamp.cache_clear()
            assert Store(folder).get("kind", b"content") is None
        store_module._stamp.cache_clear()
    assert Store(folder).get("kind", b"content") is not None
    store_module._stamp.cache_clear()


def test_in_a_checkout_a_change_of_the_code_counts(monkeypatch):
    assert store_module._changed_at() > 0, "this test is of a checkout"
    newest = max(
        path.stat().st_mtime_ns
        for folder in ("evaluate", "ir")
        for path in (Path(store_module.__file__).parents[1] / folder).rglob("*.py")
    )
    assert store_module._changed_at() == newest


def test_what_was_made_before_a_change_of_the_code_is_not_written(folder, monkeypatch):
    store = Store(folder)
    store.put("kind", b"content", lambda: ("entry",))
    monkeypatch.setattr(store_module, "_changed_at", lambda: time.time_ns())
    store.flush()
    assert not list(folder.glob("*.entry"))
    assert store.get("kind", b"content") == ("entry",)


def test_where_nothing_was_written_yet_nothing_is_looked_for(folder, monkeypatch):
    monkeypatch.setattr(store_module, "_stamp", None)  # would fail if it were called
    assert Store(folder).get("kind", b"content") is None


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("bits", [stat.S_IWOTH, stat.S_IWGRP])
def test_a_folder_that_others_may_write_to_does_not_count(folder, bits):
    written(folder)
    folder.chmod(0o700 | bits)
    assert Store(folder).get("kind", b"content") is None


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_the_folder_and_its_files_are_the_users_alone(folder):
    path = written(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written_does_no_harm(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    store = Store(blocked / "cache")
    store.put("kind", b"content", lambda: ("entry",))
    store.flush()
    assert store.get("kind", b"content") == ("entry",)
    assert Store(blocked / "cache").get("kind", b"content") is None


def test_a_full_disk_does_no_harm_and_leaves_no_part(folder, monkeypatch):
    folder.mkdir(0o700)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    store = Store(folder)
    store.put("kind", b"content", lambda: ("entry",))
    store.flush()
    assert list(folder.iterdir()) == []
    assert store.get("kind", b"content") is None


def test_what_marshal_cannot_hold_is_not_kept(folder):
    store = Store(folder)
    store.put("kind", b"content", lambda: (object(),))
    store.put("kind", b"fine", lambda: ("fine",))
    store.flush()
    assert Store(folder).get("kind", b"content") is None
    assert Store(folder).get("kind", b"fine") == ("fine",)


def test_what_was_not_used_for_longest_goes(folder):
    entry = (bytes(1000),)
    long_ago = time.time() - 3 * 86400
    store = Store(folder, most_bytes=10_000)
    for number in range(8):
        store.put("kind", str(number).encode(), lambda: entry)
    store.flush()
    for path in folder.glob("*.entry"):
        os.utime(path, (long_ago, long_ago))
    assert Store(folder).get("kind", b"3") == entry  # used: as new from now on

    store.put("kind", b"one", lambda: entry)
    store.put("kind", b"more", lambda: entry)
    store.flush()

    assert sum(path.stat().st_size for path in folder.glob("*.entry")) <= 7500
    fresh = Store(folder)
    assert all(fresh.get("kind", name) == entry for name in (b"3", b"one", b"more"))


def test_parts_that_a_dead_process_left_go(folder):
    folder.mkdir(0o700)
    left, recent = folder / ".left.part", folder / ".recent.part"
    left.write_bytes(b"x")
    recent.write_bytes(b"x")
    os.utime(left, (0, 0))
    written(folder)
    assert not left.exists()
    assert recent.exists()


WRITER = """
import sys
from pathlib import Path
from kvtrace.evaluate.store import Store
folder = Path(sys.argv[1])
store = Store(folder, most_bytes=40_000)
for turn in range(30):
    for number in range(8):
        entry = (number, bytes([number]) * 2000)
        content = str(number).encode()
        found = Store(folder).get("kind", content)
        assert found is None or found == entry, found
        store.put("kind", content, lambda entry=entry: entry)
    store.flush()
"""


def test_processes_that_write_the_same_at_once_see_whole_entries_only(folder):
    others = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder)]) for _ in range(3)]
    assert [other.wait() for other in others] == [0, 0, 0]
    assert not list(folder.glob("*.part"))
    assert Store(folder).get("kind", b"7") == (7, bytes([7]) * 2000)


FORKING = """
import os, sys
from pathlib import Path
from kvtrace.evaluate.store import store
kept = store()
kept.put("kind", b"content", lambda: os.getpid())
kept._lock.acquire()  # as another thread may at this moment
child = os.fork()
if child == 0:
    assert kept.get("kind", b"content") is None
    kept.put("kind", b"child", lambda: "child")
    kept.flush()
    os._exit(0)
kept._lock.release()
assert os.waitpid(child, 0)[1] == 0
kept.flush()
assert kept.get("kind", b"content") == os.getpid()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_waits_for_no_lock_and_writes_its_own_entries(folder):
    variables = os.environ | {"KVTRACE_CACHE": str(folder)}
    subprocess.run([sys.executable, "-c", FORKING], env=variables, check=True, timeout=60)
    assert len(list(folder.glob("*.entry"))) == 2


PROGRAM = """
import sys
from kvtrace.evaluate.modules import read
read(sys.stdin.read())
print("kvtrace.ir.parser" in sys.modules)
"""


def parses(variables):
    """Whether a process that reads the kernel has to parse it."""
    bare = {
        name: value
        for name, value in os.environ.items()
        if name not in ("KVTRACE_CACHE", "XDG_CACHE_HOME", "HOME")
    }
    said = subprocess.check_output(
        [sys.executable, "-c", PROGRAM], input=KERNEL, text=True, env=bare | variables
    )
    return said.strip() == "True"


@pytest.mark.skipif(sys.platform == "win32", reason="places of POSIX")
@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"KVTRACE_CACHE": "{}/here"}, "here"),
        ({"XDG_CACHE_HOME": "{}/xdg"}, "xdg/kvtrace"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{}"}, ".cache/kvtrace"),
        ({"HOME": "{}"}, ".cache/kvtrace"),
    ],
)
def test_the_next_process_does_not_parse(tmp_path, variables, place):
    variables = {name: value.format(tmp_path) for name, value in variables.items()}
    assert parses(variables)
    assert list((tmp_path / place).glob("*.entry"))
    assert not parses(variables)


@pytest.mark.parametrize("off", ["0", "off"])
def test_the_cache_can_be_turned_off(tmp_path, off):
    variables = {"KVTRACE_CACHE": off, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert parses(variables)
    assert parses(variables)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_a_home_that_may_only_be_read_does_no_harm(tmp_path):
    tmp_path.chmod(0o500)
    try:
        if os.geteuid() == 0:  # whom permissions do not stop: a home that is no folder
            home = tmp_path / "file"
            home.touch()
        else:
            home = tmp_path
        assert parses({"HOME": str(home)})
        assert parses({"HOME": str(home)})
    finally:
        tmp_path.chmod(0o700)


def test_an_entry_that_is_no_module_is_parsed_anew(folder, monkeypatch):
    bad = Store(folder)
    monkeypatch.setattr("kvtrace.evaluate.modules.store", lambda: bad)
    for entry in (("not", "a", "module"), (), 5, ((), (), ((1,),), (), ())):
        bad.forget()
        monkeypatch.setattr(bad, "get", lambda *_, entry=entry: entry)
        assert read(KERNEL).main.name == "kernel"
