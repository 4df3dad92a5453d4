"""Installation of Triton versions, once each, and errors as sentences; needs no network."""

import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.addons.ci import triton_versions
from kvtrace.addons.ci.triton_versions import (
    NotInstallable,
    cache_folder,
    installed_triton,
    with_triton,
)


@pytest.fixture
def installer(tmp_path, monkeypatch):
    """Replace the installer; return its commands, and the list of its results to come."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    commands = []

    def answer(command, **_):
        commands.append(command)
        code, stderr = answers.pop(0)
        if code == 0:
            Path(command[command.index("--target") + 1], "triton").mkdir()
        return subprocess.CompletedProcess(command, code, "", stderr)

    answers = []
    monkeypatch.setattr(triton_versions.subprocess, "run", answer)
    return commands, answers


def test_a_version_is_installed_once_for_a_python(installer, tmp_path):
    commands, answers = installer
    answers.append((0, ""))
    first = installed_triton("3.6.0")
    assert installed_triton("3.6.0") == first
    assert len(commands) == 1
    assert commands[0][-1] == "triton==3.6.0"
    assert "--no-deps" in commands[0]
    assert first.parent == cache_folder({"XDG_CACHE_HOME": str(tmp_path)})
    assert first.name.startswith(f"3.6.0-{sys.implementation.cache_tag}-")
    assert [path.name for path in first.parent.iterdir()] == [first.name]


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("ERROR: Could not find a version that satisfies the requirement triton==9.9\n"
         "ERROR: No matching distribution found for triton==9.9\n",
         r"there is no Triton 9\.9 for Python 3"),
        ("WARNING: retrying\nERROR: Could not install packages due to an OSError: no route\n",
         r"Triton 9\.9 cannot be installed: ERROR: Could not install .* no route\."),
        ("", r"Triton 9\.9 cannot be installed: exit code 1"),
    ],
)  # fmt: skip
def test_failed_installation_is_an_error_and_leaves_no_files(installer, stderr, message, tmp_path):
    installer[1].append((1, stderr))
    with pytest.raises(NotInstallable, match=message):
        installed_triton("9.9")
    assert list(cache_folder({"XDG_CACHE_HOME": str(tmp_path)}).iterdir()) == []


@pytest.mark.parametrize("version", ["", "none", "../3.6", "3.6.0 --index-url=x", "3.6/0"])
def test_invalid_version_is_never_requested(installer, version):
    with pytest.raises(NotInstallable, match="is not a version of Triton"):
        installed_triton(version)
    assert installer[0] == []


def test_uv_is_preferred_to_pip(monkeypatch):
    monkeypatch.setattr(triton_versions.shutil, "which", lambda _: "/usr/bin/uv")
    assert triton_versions._installer()[:3] == ["/usr/bin/uv", "pip", "install"]
    monkeypatch.setattr(triton_versions.shutil, "which", lambda _: None)
    assert triton_versions._installer()[:3] == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(triton_versions, "_has_pip", lambda: False)
    with pytest.raises(NotInstallable, match="needs uv or pip"):
        triton_versions._installer()


def test_version_precedes_the_existing_pythonpath(tmp_path):
    assert with_triton(tmp_path, {}) == {"PYTHONPATH": str(tmp_path)}
    assert with_triton(tmp_path, {"PYTHONPATH": "a"}) == {"PYTHONPATH": f"{tmp_path}:a"}
