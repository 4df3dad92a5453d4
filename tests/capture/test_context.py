"""What a run says of itself: the commit, the ranks, the versions, its stack frames."""

import subprocess
import sys
import threading
import types

import pytest

from kvtrace.capture import context, stacks
from kvtrace.capture.context import GitFacts, library_versions
from kvtrace.capture.groups import group_id


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A program in a checkout of its own, as the running `__main__`."""
    folder = tmp_path / "checkout" / "inside"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("x = 1\n")
    git(tmp_path / "checkout", "init", "-b", "work")
    git(tmp_path / "checkout", "add", ".")
    git(tmp_path / "checkout", "commit", "-m", "first")
    main = types.ModuleType("__main__")
    main.__file__ = str(folder / "train.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    return tmp_path / "checkout"


def test_checkout_of_the_script_is_found_from_any_directory(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facts = GitFacts().facts(wait=True)
    assert facts["git_root"] == str(checkout)
    assert len(facts["git_commit"]) == 40
    assert (facts["git_branch"], facts["git_dirty"]) == ("work", False)


def test_checkout_is_dirty_with_a_changed_file_but_not_with_a_new_one(checkout):
    (checkout / "new.txt").write_text("untracked")
    assert GitFacts().facts(wait=True)["git_dirty"] is False
    (checkout / "inside" / "train.py").write_text("x = 2\n")
    assert GitFacts().facts(wait=True)["git_dirty"] is True


def test_tool_in_a_virtual_environment_records_the_working_directorys_checkout(
    checkout, tmp_path, monkeypatch
):
    tool = tmp_path / "other" / ".venv" / "bin" / "pytest"
    tool.parent.mkdir(parents=True)
    tool.write_text("")
    git(tmp_path / "other", "init", "-b", "of-the-tool")
    git(tmp_path / "other", "commit", "--allow-empty", "-m", "first")
    sys.modules["__main__"].__file__ = str(tool)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "other" / ".venv"))
    monkeypatch.chdir(checkout)
    assert GitFacts().facts(wait=True)["git_branch"] == "work"


def test_git_facts_are_read_if_no_thread_can_be_started(checkout, monkeypatch):
    def ending(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")  # Python 3.12.1

    monkeypatch.setattr(threading.Thread, "start", ending)
    assert GitFacts().facts(wait=True)["git_root"] == str(checkout)


def test_a_detached_head_has_a_commit_and_no_branch(checkout):
    git(checkout, "checkout", "--detach")
    facts = GitFacts().facts(wait=True)
    assert (len(facts["git_commit"]), facts["git_branch"]) == (40, None)


def test_outside_of_a_checkout_git_columns_are_missing(tmp_path, monkeypatch):
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir(tmp_path)
    assert GitFacts().facts(wait=True) == {}


def test_without_git_its_columns_are_missing(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert GitFacts().facts(wait=True) == {}


@pytest.mark.parametrize(
    ("environment", "group"),
    [
        ({}, None),
        ({"KVTRACE_GROUP": "g"}, "g"),
        ({"KVTRACE_GROUP": "g", "WORLD_SIZE": "2"}, "g"),
        ({"KVTRACE_GROUP": "g", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}, "g"),
        (
            {"KVTRACE_GROUP": "g", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
            | {"TORCHELASTIC_RUN_ID": "77"},
            "job-77",
        ),
        (
            {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"}
            | {"MASTER_ADDR": "node0", "MASTER_PORT": "29500"},
            "job-node0-29500",
        ),
        ({"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}, "job-localhost-1"),
        ({"KVTRACE_GROUP": "g", "WORLD_SIZE": "not a number"}, "g"),
    ],
)
def test_ranks_of_one_host_share_what_they_inherit_and_hosts_their_rendezvous(environment, group):
    assert group_id(environment) == group


def test_versions_are_those_of_imported_libraries(monkeypatch):
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    torch = types.SimpleNamespace(__version__="9.9", version=types.SimpleNamespace(cuda="13.0"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = library_versions()
    assert (found["torch"], found["cuda"]) == ("9.9", "13.0")
    assert found["python"] == sys.version.split()[0]
    assert "jax" not in found


def test_devices_are_queried_only_after_torch_has_started_them(monkeypatch):
    asked = []
    cuda = types.SimpleNamespace(is_initialized=lambda: False, device_count=lambda: asked.append(1))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    assert (context.devices(), asked) == ([], [])


def here():
    return stacks.current_stack()


def test_stacks_begin_with_the_caller_and_lines_count_from_one():
    frames = here()
    assert frames[0].function == "here"
    assert frames[0].column == 12
    assert frames[0].line == here.__code__.co_firstlineno + 1
    assert frames[1].function.endswith("test_stacks_begin_with_the_caller_and_lines_count_from_one")
    assert frames[1].file == __file__


def test_deep_stacks_are_cut_at_the_outer_end():
    def deep(levels):
        return deep(levels - 1) if levels else stacks.current_stack()

    frames = deep(500)
    assert len(frames) == stacks.DEPTH_LIMIT
    assert all(frame.function.endswith("deep") for frame in frames)


def test_hidden_frames_are_left_out(monkeypatch):
    monkeypatch.setattr(stacks, "_hidden", list(stacks._hidden))
    folder = __file__.rpartition("/")[0]
    stacks.hide_frames_of(folder)
    try:
        assert all(not frame.file.startswith(folder + "/") for frame in here())
    finally:
        stacks._hidden[:] = stacks._hidden[:-1]
        stacks.is_hidden.cache_clear()


def test_devices_have_torchs_properties(monkeypatch):
    torch = pytest.importorskip("torch")
    intel = types.SimpleNamespace(name="Arc", total_memory=5)
    monkeypatch.setattr(torch.xpu, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.xpu, "device_count", lambda: 1)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda _index: intel)
    assert context.devices() == [{"index": 0, "name": "Arc", "capability": None, "memory_bytes": 5}]
    amd = types.SimpleNamespace(
        name="MI300X", total_memory=9, major=9, minor=4, gcnArchName="gfx942:sramecc+"
    )
    monkeypatch.setattr(torch.version, "hip", "6.4", raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _index: amd)
    assert context.devices()[0]["capability"] == "gfx942"
