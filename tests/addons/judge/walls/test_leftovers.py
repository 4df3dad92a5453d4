"""What is left is taken_over over or removed, whatever it is."""

import os

import pytest

from kvtrace.addons.judge.walls.leftovers import TooManyFiles, copy_files, remove

FOLDER = os.O_RDONLY | os.O_DIRECTORY


def taken_over(source, target, most=1 << 20, without=()):
    target.mkdir()
    descriptors = [os.open(each, FOLDER) for each in (source, target)]
    try:
        copy_files(*descriptors, most, without)
    finally:
        for each in descriptors:
            os.close(each)
    return sorted(str(path.relative_to(target)) for path in target.rglob("*"))


def test_regular_files_are_copied_and_nothing_else(tmp_path):
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_bytes(b"content")
    (source / "left-out").write_bytes(b"x")
    (source / "link").symlink_to("/etc/passwd")
    (source / "around").symlink_to(source)
    os.mkfifo(source / "pipe")

    names = taken_over(source, tmp_path / "target", without=["left-out"])

    assert names == ["inner", "inner/file"]
    assert (tmp_path / "target" / "inner" / "file").read_bytes() == b"content"


def test_too_many_bytes_are_an_error(tmp_path):
    (tmp_path / "source").mkdir()
    with (tmp_path / "source" / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooManyFiles):
        taken_over(tmp_path / "source", tmp_path / "target")


def test_too_many_entries_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("kvtrace.addons.judge.walls.leftovers._MOST_ENTRIES", 3)
    (tmp_path / "source").mkdir()
    for number in range(4):
        (tmp_path / "source" / str(number)).touch()
    with pytest.raises(TooManyFiles):
        taken_over(tmp_path / "source", tmp_path / "target")


def nested(folder, depth):
    folder.mkdir()
    here = os.open(folder, FOLDER)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        here, above = os.open("deeper", FOLDER, dir_fd=here), here
        os.close(above)
    os.close(here)


def test_deeply_nested_folder_is_copied_in_part_and_deleted(tmp_path):
    nested(tmp_path / "source", 3000)
    names = taken_over(tmp_path / "source", tmp_path / "target")
    assert len([name for name in names if name.endswith("file")]) == 9

    remove(tmp_path / "source")

    assert not (tmp_path / "source").exists()


def test_folder_without_permissions_is_deleted(tmp_path):
    (tmp_path / "source" / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "source" / "closed" / "inner").chmod(0)
    (tmp_path / "source" / "closed").chmod(0)

    remove(tmp_path / "source")

    assert not (tmp_path / "source").exists()
