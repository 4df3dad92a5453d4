"""Copies of the files beside a judged file, and reasons for files that are left out."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from kvtrace.addons.judge.confining import run_confined
from kvtrace.addons.judge.walls import neighbors
from kvtrace.addons.judge.walls.neighbors import UnsuitableFile, copy_with_neighbors, read_regular

SECRET = "a-line-of-the-host"


@pytest.fixture
def repository(tmp_path):
    """Return a folder with a judged file and a package; a key lies outside of the folder."""
    folder = tmp_path / "repository"
    (folder / "package" / "inner").mkdir(parents=True)
    (tmp_path / "key").write_text(SECRET)
    (folder / "judged.py").write_text("import package.inner.module\n")
    (folder / "other.py").write_text("OTHER = 1\n")
    (folder / "notes.txt").write_text(SECRET)
    for name in ("__init__.py", "data.json", "inner/__init__.py", "inner/module.py"):
        (folder / "package" / name).write_text("")
    (folder / "package" / "__pycache__").mkdir()
    (folder / "package" / "__pycache__" / "x.pyc").write_text(SECRET)
    (folder / "no_package").mkdir()
    (folder / "no_package" / "data.py").write_text(SECRET)
    return folder


@pytest.fixture
def copied(repository, tmp_path):
    """Return a function that copies, and returns the copied names and those left out."""

    def run():
        root = tmp_path / "root"
        root.mkdir()
        left_out = copy_with_neighbors(repository / "judged.py", str(root))
        target = Path(f"{root}{repository}")
        files = [path for path in target.rglob("*") if not path.is_dir() or path.is_symlink()]
        assert not any(path.is_symlink() for path in files)
        assert not any(SECRET in path.read_text() for path in files)
        return {str(path.relative_to(target)) for path in files}, left_out

    return run


USUAL = {
    "judged.py", "other.py", "package/__init__.py", "package/data.json",
    "package/inner/__init__.py", "package/inner/module.py",
}  # fmt: skip


def test_python_files_and_packages_are_copied(copied):
    assert copied() == (USUAL, [])


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("key.py", "../key"),
        ("all.py", "/"),
        ("all", "/"),
        ("endless.py", "/dev/zero"),
        ("around.py", "around.py"),
        ("package/key.py", "../../key"),
        ("package/home", "../.."),
        ("package/inner/gone", "nowhere"),
    ],
)
def test_links_beside_the_judged_file_are_not_followed(repository, copied, name, target):
    (repository / name).symlink_to(target)
    assert copied() == (USUAL, [f"{name} (a link)"])


def test_link_to_a_package_is_left_out(repository, copied):
    (repository / "linked").symlink_to(repository / "package")
    assert copied() == (USUAL, ["linked (a link)"])


def test_folder_whose_init_is_a_link_is_not_copied(repository, copied, tmp_path):
    (repository / "no_package" / "__init__.py").symlink_to(tmp_path / "key")
    assert copied() == (USUAL, [])


def test_hard_link_is_not_copied(repository, copied, tmp_path):
    (repository / "key.py").hardlink_to(tmp_path / "key")
    assert copied() == (USUAL, ["key.py (it has another name, by a hard link)"])


def test_folders_sockets_and_fifos_are_left_out(repository, copied):
    os.mkfifo(repository / "pipe.py")
    (repository / "folder.py").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        with contextlib.chdir(repository):  # a socket's path has 107 characters at most
            listening.bind("package/listens")
        result = copied()
    assert result == (
        USUAL, ["folder.py (a folder)", "package/listens (a socket)", "pipe.py (a FIFO)"],
    )  # fmt: skip


def test_device_file_is_not_copied(repository, copied):
    if os.geteuid() != 0:
        pytest.skip("only root can make devices")
    os.mknod(repository / "zero.py", 0o020666, os.makedev(1, 5))
    assert copied() == (USUAL, ["zero.py (a device)"])


def test_large_files_are_left_out(repository, copied):
    (repository / "large.py").write_bytes(b"#" * (neighbors.MOST_BYTES_OF_FILE + 1))
    (repository / "most.py").write_bytes(b"#" * neighbors.MOST_BYTES_OF_FILE)
    assert copied() == (USUAL | {"most.py"}, ["large.py (larger than 1 MiB)"])


def test_files_beyond_the_total_size_are_left_out(repository, copied):
    for number in range(20):
        (repository / f"part{number:02}.py").write_bytes(b"#" * neighbors.MOST_BYTES_OF_FILE)
    files, left_out = copied()
    assert sum(name.startswith("part") for name in files) in (15, 16)
    assert left_out[-1] == "part19.py (all files together exceed 16 MiB)"


def test_files_beyond_the_largest_number_are_left_out(repository, copied):
    for number in range(2100):
        (repository / "package" / f"{number:04}").touch()
    files, left_out = copied()
    assert len(files) == 2000
    assert left_out == ["others (there are more than 2,000 files)"]


def test_deep_folders_are_left_out(repository, copied):
    folder = repository / "package"
    for _ in range(12):
        folder /= "deeper"
    folder.mkdir(parents=True)
    (folder / "file").touch()
    files, left_out = copied()
    assert files == USUAL
    assert left_out == [f"package{'/deeper' * 8} (more than 8 folders deep)"]


def test_left_out_names_are_escaped_for_terminals(repository, copied):
    for name in (b"\x1b]0;title\x07.py", b"\xff\n.py"):
        (repository / os.fsdecode(name)).symlink_to("/")
    _, left_out = copied()
    assert left_out == ["\\x1b]0;title\\x07.py (a link)", "\\udcff\\n.py (a link)"]


def test_at_most_20_left_out_files_are_listed(repository, copied):
    for number in range(50):
        (repository / f"link{number:02}.py").symlink_to("/")
    _, left_out = copied()
    assert (len(left_out), left_out[-1]) == (21, "and 30 more")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "a link"),
        (os.mkfifo, "a FIFO"),
        (Path.mkdir, "a folder"),
        (lambda path: path.write_bytes(bytes(1 + (1 << 20))), "larger than 1 MiB"),
    ],
)
def test_judged_file_that_is_not_regular_is_refused(tmp_path, make, reason):
    path = tmp_path / "judged.py"
    make(path)
    with pytest.raises(UnsuitableFile, match=reason):
        read_regular(path)


@pytest.mark.process
def test_a_confined_process_has_the_copies_and_says_what_is_left_out(repository, tmp_path):
    (repository / "key.py").symlink_to(tmp_path / "key")
    (repository / "all.py").symlink_to("/")

    def work():
        os.chdir(repository)
        print(*sorted(map(str, Path().rglob("*.py"))))
        print(Path("other.py").read_text())
        Path("other.py").write_text("changed")

    ended = run_confined(
        work, tmp_path / "folder", seconds=10, memory_mb=500, code=[repository / "judged.py"]
    )

    names = "judged.py other.py package/__init__.py package/inner/__init__.py"
    assert ended.output.startswith(f"{names} package/inner/module.py\nOTHER = 1\n")
    assert "Read-only file system" in ended.last_line
    assert ended.left_out == ("all.py (a link)", "key.py (a link)")
    assert (repository / "other.py").read_text() == "OTHER = 1\n"
