"""Run tests with the oldest, or the newest, versions that pyproject.toml says kvtrace works with.

    python requirements/bounds.py oldest [pytest's arguments]

An environment `.venv-oldest` (or `.venv-newest`) is made in the checkout: kvtrace's dependencies
are those at the end of their range, all else is pinned as in dev.lock. The report's page is left
out: it does not depend on them.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ("*page*", "*browser*", "*frontend*", "*report_view*", "*packaging*")


def name_of(requirement: str) -> str:
    """The package's name, as it is compared."""
    return re.split(r"[=<>;]", requirement)[0].lower().replace("_", "-")


def tools(own: list[str]) -> list[str]:
    """What runs the tests, as it is locked."""
    lines = (ROOT / "requirements" / "dev.lock").read_text().splitlines()
    names = {name_of(line) for line in own}
    return [line for line in lines if not line.startswith("#") and name_of(line) not in names]


def dependencies(end: str) -> list[str]:
    """What kvtrace itself needs, at an end of the range that it states."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated: list[str] = settings["project"]["dependencies"]
    return [line.replace(">=", "==") for line in stated] if end == "oldest" else stated


def main(end: str, tests: list[str]) -> int:
    """Make the environment and run the tests; return pytest's exit code."""
    if end not in ("oldest", "newest"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = ROOT / f".venv-{end}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    own = dependencies(end)
    subprocess.run([*pip, "--no-deps", *tools(own)], check=True)
    subprocess.run([*pip, "--upgrade", *own], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    subprocess.run([python, "-m", "pip", "list", "--format=freeze"], check=True)
    chosen = tests or [f"--ignore-glob={glob}" for glob in PAGE]
    return subprocess.run([python, "-m", "pytest", "-n", "2", *chosen], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""], sys.argv[2:]))
