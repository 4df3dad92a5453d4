"""Run tests in an environment of their own, with other versions than the locked ones."""

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from re import split
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

#: The versions of Triton that kvtrace is tested with, oldest first, each with the torch of its
#: time. This is the one list; a test compares it with `thorough.yml`, with what `pyproject.toml`
#: allows and with what the recorder says of a newer Triton.
PAIRS: Final = {
    "3.5.1": "2.10.0",
    "3.6.0": "2.11.0",
    "3.7.1": "2.13.0",
    "3.8.0": "2.14.1",
    "3.9.0": "2.15.0",
}
ENDS: Final = ("oldest", "newest")
#: What is left out with dependencies at an end: the report's page does not depend on them.
PAGE: Final = ("*page*", "*browser*", "*frontend*", "*report_view*", "*packaging*")
#: What depends on Triton and torch.
ROOMS: Final = tuple(
    f"tests/{room}"
    for room in ("capture", "ir", "backends", "evaluate", "verdicts", "addons/memory/recording")
)
#: What finds most of a difference in a minute: layouts, records, the corpus of IR, races within
#: programs, launches without a GPU, Inductor.
QUICK: Final = (
    "tests/capture/test_hot_choice_layouts.py",
    "tests/capture/test_capture_triton_records.py",
    "tests/ir/test_ir_corpus.py",
    "tests/verdicts/conflicts/test_race_within.py",
    "tests/backends/compiled_kernels/test_versions.py",
    "tests/backends/triton/test_device_free.py",
    "tests/backends/triton/test_interpreted_launches.py",
    "tests/backends/inductor/test_launches.py",
)
EPILOG: Final = f"""\
environments:
  oldest, newest  kvtrace's own dependencies at that end of the range in pyproject.toml
  VERSION         that Triton with its torch: {", ".join(f"{a} with {b}" for a, b in PAIRS.items())}
  latest          the newest Triton of today with the newest torch, unless it is one of these
  all             each of these Tritons, and the latest

What is not varied is as in dev.lock. An environment is .venv-NAME in the checkout, and is removed
after its tests, so that there is one at a time, of up to 8.4 GB: 5.8 GB are a build of torch for
CUDA, which is what the package index has where it has no other. It imports without a GPU. --keep
leaves it there, for the next run; removing the folder is all that it takes to be rid of it.
"""


def name_of(requirement: str) -> str:
    """The package's name, as it is compared."""
    return split(r"[=<>;]", requirement)[0].strip().lower().replace("_", "-")


def locked(but: list[str]) -> list[str]:
    """The lines of dev.lock for all packages but some."""
    lines = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8").splitlines()
    names = {name_of(line) for line in but}
    return [line for line in lines if not line.startswith("#") and name_of(line) not in names]


def dependencies(end: str) -> list[str]:
    """What kvtrace itself needs, at an end of the range that it states."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated: list[str] = settings["project"]["dependencies"]
    return [line.replace(">=", "==") for line in stated] if end == "oldest" else stated


def newest_triton() -> str:
    """The version that the package index gives today."""
    wanted = ["--ignore-installed", "--no-deps", "--dry-run", "--quiet", "--report", "-", "triton"]
    command = [sys.executable, "-m", "pip", "install", *wanted]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return str(report["install"][0]["metadata"]["version"])


def environments(names: list[str], beside: bool) -> list[str]:
    """The environments that words of the command line name."""
    if not names:
        names = [next(iter(PAIRS)), list(PAIRS)[-1]] if beside else ["all"]
    found = []
    for name in names:
        found += [*PAIRS, "latest"] if name == "all" else [name]
    return list(dict.fromkeys(found))


class Environment:
    """A folder with a Python that has other versions."""

    def __init__(self, name: str, *, beside: bool, keep: bool) -> None:
        self.name, self.beside, self.keep = name, beside, keep
        self.folder = ROOT / f".venv-{name}{'-beside' if beside else ''}"
        self.python = self.folder / "bin" / "python"

    def make(self) -> None:
        """Install what is not there."""
        if not self.python.exists():
            venv.create(self.folder, symlinks=True)
        if self.beside:
            self._borrow()
        elif self.name in ENDS:
            own = dependencies(self.name)
            self._install("--no-deps", *locked(but=own))
            self._install("--upgrade", *own)
            self._install("--no-deps", "--no-build-isolation", "-e", str(ROOT))
        else:
            triton, torch = f"triton=={self.name}", f"torch=={PAIRS.get(self.name)}"
            if self.name == "latest":
                triton, torch = "triton", "torch"
            self._install("--no-deps", *locked(but=["triton", "torch"]))
            self._install(torch)  # with its libraries, and the Triton that it pins
            self._install("--no-deps", "--upgrade", triton)
            self._install("--no-deps", "--no-build-isolation", "-e", str(ROOT))

    def _borrow(self) -> None:
        """Put a Triton in front of all that the Python of this script has."""
        self._install("--no-deps", f"triton=={self.name}")
        (packages,) = self.folder.glob("lib/python*/site-packages")
        lent = Path(sysconfig.get_path("purelib"))
        for path in lent.glob("*.pth"):  # read after 0_lent.pth, as the line that starts recording
            shutil.copy(path, packages)
        (packages / "0_lent.pth").write_text(f"{lent}\n")

    def _install(self, *wanted: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", str(self.python)]
        command += ["--disable-pip-version-check", "install", "--quiet", "--no-compile"]
        command += [] if self.keep else ["--no-cache-dir"]  # which would hold it a second time
        subprocess.run([*command, *wanted], check=True)

    def test(self, tests: list[str]) -> int:
        """Run the tests; return pytest's exit code."""
        if not tests:
            left_out = [f"--ignore-glob={glob}" for glob in PAGE]
            tests = left_out if self.name in ENDS else [*(QUICK if self.beside else ROOMS)]
        command = [self.python, "-m", "pytest", "-n", "auto", "--maxprocesses", "4", *tests]
        print(f"== {self.folder.name}: {self._versions()}", flush=True)
        return subprocess.run(command, cwd=ROOT).returncode

    def _versions(self) -> str:
        code = "from importlib.metadata import version as v; print(v('triton'), v('torch'))"
        done = subprocess.run(
            [self.python, "-c", code], check=True, stdout=subprocess.PIPE, text=True
        )
        return "Triton {}, torch {}".format(*done.stdout.split())

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


def main(words: list[str]) -> int:
    """Make environments, one after the other, and run the tests in each; 1 if any failed."""
    parser = argparse.ArgumentParser(
        "bounds.py", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [--beside] [--keep] [ENVIRONMENT ...] [-- PYTEST'S ARGUMENTS]",
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="ENVIRONMENT", help="see below; default: all")
    parser.add_argument(
        "--beside", action="store_true",
        help="install the Triton alone, in front of what the Python of this script has, and run "
        "the quick tests; default: the oldest and the newest",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="do not remove the environment")
    at = words.index("--") if "--" in words else len(words)
    given, tests = parser.parse_args(words[:at]), words[at + 1 :]
    allowed = {*ENDS, *PAIRS, "latest", "all"} if not given.beside else {*PAIRS}
    if unknown := set(given.names) - allowed:
        parser.error(f"there is no environment {', '.join(sorted(unknown))}")
    failed = 0
    for name in environments(given.names, given.beside):
        environment = Environment(name, beside=given.beside, keep=given.keep)
        try:
            if name == "latest" and (newest := newest_triton()) in PAIRS:
                print(f"== latest: the newest Triton is {newest}, which is one of the others")
                continue
            environment.make()
            failed |= environment.test(tests)
        except subprocess.CalledProcessError as error:  # pip has said why; the others are tested
            print(f"== {environment.folder.name}: NOT TESTED: {error}")
            failed = 1
        finally:
            if not given.keep:
                environment.remove()
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
