"""File systems that are soon full, or cannot be written to."""

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


@pytest.fixture
def read_only(tmp_path):
    """Return a function that makes a folder read-only, as a mount is."""
    mounted = []

    def make(folder):
        for options in (("--bind",), ("-o", "remount,ro,bind")):
            done = subprocess.run(
                ["mount", *options, str(folder), str(folder)], capture_output=True
            )
            if done.returncode:
                pytest.skip("mounting needs root")
            mounted.append(folder)

    yield make
    for folder in dict.fromkeys(mounted):
        subprocess.run(["umount", "-l", str(folder)], check=True)
