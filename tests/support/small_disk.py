"""A file system that is soon full."""

import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 4 MiB; the writer's files alone do not fit."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting needs root; limits of the size of files are tried everywhere")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
