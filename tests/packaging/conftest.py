"""kvtrace built and installed for real: a wheel in one environment, an editable tree in another.

The environments see the packages of the one that runs the tests (torch is not installed again), but
not its kvtrace: a path file adds its site-packages without reading the path files in there.
"""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.tree import copy_tracked


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
            timeout=300,
        )


def run_checked(*command: str | Path, folder: Path, **variables: str) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def build(tree: Path, into: Path, *options: str, **variables: str) -> None:
    """Build sdist and wheel, as a release does; variables are those that count while building."""
    command = (sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", into)
    run_checked(*command, folder=tree, **variables)


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


def required(requirements: list[str], extra: str = "") -> Iterator[Requirement]:
    """Those that count on this machine."""
    for each in map(Requirement, requirements):
        if each.marker is None or each.marker.evaluate({"extra": extra}):
            yield each


def closure(names: list[str]) -> list[Distribution]:
    """The distributions of these names and of all that they require."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found[name] = distribution(name)
            waiting += [each.name for each in required(found[name].requires or [])]
    return list(found.values())


def link(dist: Distribution, site_packages: Path) -> None:
    """Make a distribution's files seen in another environment; its scripts are left out."""
    tops = {file.parts[0] for file in dist.files or [] if file.parts[0] != ".."}
    for name in tops - {"__pycache__"}:
        (site_packages / name).symlink_to(Path(str(dist.locate_file(name))))


def make_resolved(folder: Path, wheel: Path, extra: str = "") -> Environment:
    """An environment with a wheel and what it declares to need, and nothing else.

    Nothing is fetched: pip resolves what the wheel requires against links to what is here.
    """
    venv.create(folder, with_pip=False)
    environment = Environment(folder)
    (metadata,) = distributions(name="kvtrace", path=[str(wheel)])
    for each in closure([one.name for one in required(metadata.requires or [], extra)]):
        link(each, environment.site_packages)
    run_pip(environment, "install", "--no-index", f"{wheel}[{extra}]" if extra else wheel)
    run_pip(environment, "check")
    return environment


@pytest.fixture(scope="session")
def source_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks or would track: what a fresh clone holds, no build leftovers."""
    return copy_tracked(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def built(source_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build(source_tree, folder)
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


@pytest.fixture(scope="session")
def small(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install --no-deps kvtrace pyarrow` makes, beside torch and Triton."""
    folder = tmp_path_factory.mktemp("small")
    venv.create(folder, with_pip=False)
    environment = Environment(folder)
    for each in closure(["pyarrow", "torch", "triton"]):
        link(each, environment.site_packages)
    run_pip(environment, "install", "--no-deps", "--no-index", wheel)
    return environment


@pytest.fixture
def uninstalled(wheel: Path, tmp_path: Path) -> Environment:
    """An environment into which the wheel was installed, and removed again."""
    environment = make_environment(tmp_path / "environment", wheel)
    assert (environment.site_packages / "kvtrace.pth").exists()
    run_pip(environment, "uninstall", "--yes", "kvtrace")
    return environment
