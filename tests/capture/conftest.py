"""A Python that starts with the autostart line, as after installation, and a program for it."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "program.py"


@dataclass(frozen=True)
class Autostarting:
    """Runs programs in an environment whose site-packages hold `kvtrace.pth`."""

    python: Path
    cache: Path

    def start(
        self, *arguments: str | Path, folder: Path, **variables: str
    ) -> subprocess.Popen[str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KVTRACE", "PYTHON"))
        }
        return subprocess.Popen(
            [str(self.python), *map(str, arguments)],
            cwd=folder,
            env={**kept, "TRITON_CACHE_DIR": str(self.cache), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str | Path, folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, folder=folder, **variables)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run_until(
        self, said: str, kill: Callable[[int], None], *arguments: str | Path, folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run with capture, and end the program by `kill(pid)` once it has printed `said`."""
        process = self.start(*arguments, folder=folder, KVTRACE="out")
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == said:
                break
        kill(process.pid)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="session")
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


def kill_after_a_flush(pid: int) -> None:
    time.sleep(1.2)  # a flush comes at least every second
    os.kill(pid, signal.SIGKILL)
