"""Output folders: what is refused, filled, added to and replaced; nothing of the user's is lost."""

import subprocess

import pytest

from kvtrace.schema.errors import BadSetting
from kvtrace.schema.output_folders import (
    MARK,
    check_output_folder,
    refuse_removal,
    renew_output_folder,
)
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.converters.compared_kernels import SCALE
from tests.converters.written_trace import write_trace

OWN = r"log-\d+|trace"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder below the current one, with a file of the user's."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "notes"
    path.mkdir()
    (path / "file.txt").write_text("mine")
    return path


@pytest.mark.parametrize("use", ["fill", "add", "replace"])
def test_folder_with_other_files_is_refused_by_every_use(folder, use):
    with pytest.raises(BadSetting, match="nothing is replaced"):
        check_output_folder(folder, use, OWN)
    (folder / "file.txt").unlink()
    check_output_folder(folder, use, OWN)
    check_output_folder(folder / "new" / "one", use, OWN)
    file = folder / "file"
    file.write_text("mine")
    with pytest.raises(BadSetting, match="is a file"):
        check_output_folder(file, use, OWN)


def test_renewed_folder_is_replaced_again_but_not_with_a_file_of_the_users(folder):
    out = folder.parent / "out"
    renew_output_folder(out, OWN)
    (out / "log-1").write_text("log")
    (out / "trace" / "runs").mkdir(parents=True)
    renew_output_folder(out, OWN)
    assert [path.name for path in out.iterdir()] == [MARK]
    (out / "thoughts.txt").write_text("mine")
    with pytest.raises(BadSetting, match=r"has thoughts\.txt, which kvtrace did not make"):
        renew_output_folder(out, OWN)
    assert (out / "thoughts.txt").read_text() == "mine"


def test_link_in_a_renewed_folder_is_removed_without_what_it_names(folder):
    out = folder.parent / "out"
    renew_output_folder(out, OWN)
    (out / "trace").symlink_to(folder)
    renew_output_folder(out, OWN)
    assert not (out / "trace").exists()
    assert (folder / "file.txt").read_text() == "mine"


@pytest.mark.process
def test_folder_with_the_mark_is_kept_if_it_holds_a_repository(folder):
    out = folder.parent / "out"
    renew_output_folder(out, OWN)
    (out / "trace").mkdir()
    for options in ((), ("--bare",)):
        subprocess.run(["git", "init", "-q", *options, str(out / "trace" / "inner")], check=True)
        with pytest.raises(BadSetting, match="holds the repository"):
            renew_output_folder(out, OWN)
        assert (out / "trace" / "inner").is_dir()
        (out / "trace" / "inner").rename(folder / f"moved{len(options)}")
    renew_output_folder(out, OWN)


def test_current_folder_and_those_above_are_never_removed(folder, monkeypatch):
    out = folder.parent / "out"
    renew_output_folder(out, OWN)
    (out / "trace").mkdir()
    for inside in (out, out / "trace"):
        monkeypatch.chdir(inside)
        with pytest.raises(BadSetting, match="holds the current folder"):
            renew_output_folder(out, OWN)
    monkeypatch.chdir(folder)
    link = folder.parent / "link"
    link.symlink_to(out)
    with pytest.raises(BadSetting, match="is a link"):
        refuse_removal(link)
    assert (out / MARK).exists()


def test_runs_are_added_to_a_trace_only(folder):
    trace = folder.parent / "trace"
    write_trace(trace, [SCALE])
    (trace / "README").write_text("mine")
    check_output_folder(trace, "add")
    for use in ("fill", "replace"):
        with pytest.raises(BadSetting, match="nothing is replaced"):
            check_output_folder(trace, use, ".*")


def test_a_trace_with_the_mark_is_read_as_one_without(folder):
    trace = folder.parent / "trace"
    renew_output_folder(trace, OWN)
    write_trace(trace, [SCALE])
    assert validate(trace) == []
    assert len(open_trace(trace).run_ids) == 1
