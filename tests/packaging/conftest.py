"""kvtrace built and installed for real: a wheel in one environment, an editable tree in another.

The environments see the packages of the one that runs the tests (torch is not installed again), but
not its kvtrace: a path file adds its site-packages without reading the path files in there.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """A virtual environment with kvtrace in it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / name / "site-packages"

    def run(
        self, *command: str | Path, folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command there, with none of the caller's kvtrace or Python settings."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KVTRACE", "PYTHON"))
        }
        return subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env=kept | variables,
            capture_output=True,
            text=True,
            timeout=200,
        )


def run_checked(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def make_environment(folder: Path, *install: str | Path) -> Environment:
    venv.create(folder, with_pip=False)
    environment = Environment(folder)
    installed_here = sysconfig.get_paths()["purelib"]
    (environment.site_packages / "packages_of_the_tests.pth").write_text(installed_here + "\n")
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    run_pip(environment, "install", *options, *install)
    return environment


def run_pip(environment: Environment, *arguments: str | Path) -> None:
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", environment.python)
    run_checked(*pip, *arguments, folder=environment.folder)


@pytest.fixture(scope="session")
def source_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks or would track: what a fresh clone holds, no build leftovers."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    copy = tmp_path_factory.mktemp("source")
    for name in filter(None, listed.split("\0")):
        if not (ROOT / name).is_file():
            continue
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="session")
def built(source_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run_checked(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, folder=source_tree
    )
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("installed"), wheel)


@pytest.fixture(scope="session")
def editable(source_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("editable"), "-e", source_tree)


@pytest.fixture
def uninstalled(wheel: Path, tmp_path: Path) -> Environment:
    """An environment into which the wheel was installed, and removed again."""
    environment = make_environment(tmp_path / "environment", wheel)
    assert (environment.site_packages / "kvtrace.pth").exists()
    run_pip(environment, "uninstall", "--yes", "kvtrace")
    return environment
