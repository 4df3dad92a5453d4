"""Installation of versions of Triton, each in its own folder of the user's cache.

A program uses a version if its folder precedes the installed packages (in `PYTHONPATH`); the
interpreter, torch and all other packages stay the same. Triton needs no other package. The folders
may be deleted at any time.
"""

import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import KvtraceError

_VERSION: Final = re.compile(r"\d[\w.+!-]*")
_NO_VERSION: Final = re.compile(r"no matching distribution|no version of|not find a version", re.I)


class NotInstallable(KvtraceError):
    """A version of Triton cannot be installed."""

    slug = "not-installable"


def installed_triton(version: str) -> Path:
    """Return a folder with a version of Triton for this Python, installed if necessary.

    Raises:
        NotInstallable: no such version for this Python, no installer, or no network.
    """
    if _VERSION.fullmatch(version) is None:
        raise NotInstallable(f"{version!r} is not a version of Triton; an example is 3.6.0.")
    folder = cache_folder(os.environ) / f"{version}-{tag()}"
    if (folder / "triton").is_dir():
        return folder
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        work.mkdir(parents=True)
        _install(version, work)
        if not folder.exists():  # otherwise another process was quicker
            work.rename(folder)
    except OSError as error:
        raise NotInstallable(
            f"Triton {version} cannot be stored in {folder.parent} ({error.strerror or error})."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which `installed_triton` makes a subfolder for each version."""
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace" / "triton"


def with_triton(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return PYTHONPATH with a folder of `installed_triton` in front, to add to an environment."""
    existing = environment.get("PYTHONPATH")
    paths = [str(folder), *([existing] if existing else [])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _install(version: str, folder: Path) -> None:
    command = [*_installer(), "--no-deps", "--target", str(folder), f"triton=={version}"]
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode == 0:
        return
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    if _NO_VERSION.search(result.stderr):
        raise NotInstallable(
            f"there is no Triton {version} for {_python_version()} on this system."
        )
    errors = [line for line in lines if line.lower().startswith("error")] or lines[-1:]
    reason = errors[-1] if errors else f"exit code {result.returncode}"
    raise NotInstallable(f"Triton {version} cannot be installed: {reason.rstrip('.')}.")


def _installer() -> list[str]:
    """Return the start of a command that installs packages for this Python, by uv or else pip.

    Raises:
        NotInstallable: neither uv nor pip is installed.
    """
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if _has_pip():
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    raise NotInstallable(
        "installing a version of Triton needs uv or pip, and neither is installed."
    )


def _has_pip() -> bool:
    """Return whether pip is installed; asked past setuptools' finder, which changes distutils."""
    return PathFinder.find_spec("pip") is not None


def tag() -> str:
    """Return the Python version, operating system and machine type as part of a folder's name."""
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"


def _python_version() -> str:
    return f"Python {platform.python_version()}"
