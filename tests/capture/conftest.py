"""A Python that starts with the autostart line, as after installation, and a program for it."""

import os
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.small_disk import small_disk
from tests.support.tiers import needs
from tests.support.warm_python import warm_python

__all__ = ["small_disk"]

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "program.py"


@dataclass(frozen=True)
class Autostarting:
    """Runs programs in an environment whose site-packages hold `kvtrace.pth`."""

    python: Path
    cache: Path

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KVTRACE", "PYTHON"))
        }
        return {**kept, "TRITON_CACHE_DIR": str(self.cache), **variables}

    def run(
        self, *arguments: str | Path, folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run in a fresh interpreter."""
        return subprocess.run(
            [str(self.python), *map(str, arguments)],
            cwd=folder,
            env=self.environment(variables),
            capture_output=True,
            text=True,
            timeout=300,
        )

    def run_warm(
        self, *arguments: str | Path, folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program that imports torch, in an interpreter that has done so already."""
        environment = self.environment(variables)
        return warm_python(self.python).run(*arguments, folder=folder, environment=environment)

    def run_until(
        self, said: str, kill: Callable[[int], None], *arguments: str | Path, folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run with capture, and end the program by `kill(pid)` once it has printed `said`."""
        environment = self.environment({"KVTRACE": "out"})
        warm = warm_python(self.python)
        with warm.start(*arguments, folder=folder, environment=environment) as process:
            for line in process.stdout:
                if line.strip() == said:
                    break
            kill(process.pid)
            out, err = process.communicate(timeout=300)
            return subprocess.CompletedProcess(process.args, process.wait(), out, err)


@pytest.fixture(scope="session")
@needs("process")
def autostarting(tmp_path_factory: pytest.TempPathFactory) -> Autostarting:
    folder = tmp_path_factory.mktemp("autostarting")
    venv.create(folder / "environment", with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site_packages = folder / "environment" / "lib" / version / "site-packages"
    # path files are read in the order of their names: first where things are, then the line
    paths = [sysconfig.get_paths()["purelib"], str(ROOT)]
    (site_packages / "a_paths.pth").write_text("\n".join(paths) + "\n")
    (site_packages / "kvtrace.pth").write_text((ROOT / "kvtrace.pth").read_text())
    return Autostarting(folder / "environment" / "bin" / "python", folder / "triton")


@pytest.fixture(scope="session")
def program() -> Path:
    return PROGRAM


def interrupt(pid: int) -> None:
    os.kill(pid, signal.SIGINT)


def kill_at_once(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
