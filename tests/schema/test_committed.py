"""Asking git of a trace, by a path of any form."""

import subprocess
from pathlib import Path

from kvtrace.schema.committed import is_committed


def repository(folder: Path) -> Path:
    """A repository with a committed trace in `out`."""
    (folder / "out" / "runs").mkdir(parents=True)
    (folder / "out" / "runs" / "tables").write_text("")
    for command in (["init", "-q"], ["add", "out"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def test_a_relative_path_is_asked_of_the_folder_that_it_is_in_now(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert not is_committed(Path("out"))
    monkeypatch.chdir(repository(tmp_path / "tracked"))
    assert is_committed(Path("out"))
    monkeypatch.chdir(tmp_path / "other")
    assert not is_committed(Path("out"))
    (tmp_path / "other" / "out").symlink_to(tmp_path / "tracked" / "out")
    assert is_committed(Path("out"))
