"""One program under several versions of Triton.

Without a network the versions are the one that is installed, and a copy of it that says another
number. Where `KVTRACE_TEST_TRITONS` names a folder of unpacked versions (see
`tests/support/triton_versions.py`), those are run as well.
"""

import os
import re
import shutil
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.addons.ci.triton_versions import Outcome, cache_folder, tag, versions_table
from kvtrace.cli import main
from tests.addons.ci.programs import BENCH

OTHER = "99.0.1"


def put_triton(folder, source, version=None):
    """Make a folder with a Triton: links to the files of another, and a version number."""
    package = folder / "triton"
    package.mkdir(parents=True)
    for path in source.iterdir():
        if path.name not in ("__init__.py", "__pycache__"):
            (package / path.name).symlink_to(path)
    text = (source / "__init__.py").read_text()
    if version is not None:
        text = re.sub(r"__version__ = '[^']*'", f"__version__ = '{version}'", text)
        assert version in text
    (package / "__init__.py").write_text(text)


@pytest.fixture
def versions(project, tmp_path, monkeypatch):
    """Put two or more versions into the cache, as if they were installed; return them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache = cache_folder(os.environ)
    source = Path(find_spec("triton").origin).parent
    installed = installed_version("triton")
    put_triton(cache / f"{installed}-{tag()}", source)
    put_triton(cache / f"{OTHER}-{tag()}", source, OTHER)
    unpacked = os.environ.get("KVTRACE_TEST_TRITONS")
    others = sorted(Path(unpacked).iterdir()) if unpacked else []
    for path in others:
        (cache / f"{path.name}-{tag()}").symlink_to(path)
    return [installed, OTHER, *(path.name for path in others)]


@pytest.mark.process
def test_each_version_compiles_and_is_judged(versions, project, run_bench, capsys):
    """The program launches another kernel, larger and without its mask, under the other version."""
    program = BENCH.replace(
        "n = 1000", f"n = 1000 if triton.__version__ != {OTHER!r} else 1010"
    ).replace("sys.exit(", f"sys.exit(4 if triton.__version__ == {OTHER!r} else ")
    program = program.replace("mask = offsets < n", "mask = offsets < 1008")
    (project / "bench.py").write_text(program)
    words = ["bisect", "--triton", ",".join(versions), "--run", run_bench[1]]
    assert main([*words, "--fail-on", "findings.new, launches>+0"]) in (0, 1)
    output, errors = capsys.readouterr()
    assert f"{versions[0]} → {OTHER}" in output
    assert "add" in output.partition("Triton")[0]  # what changed of the kernel
    rows = [line.split()[0] for line in output.partition("Triton  ")[2].splitlines()[1:]]
    assert rows == versions
    assert "wrong: exit code 4" in output
    assert f"under Triton {OTHER} the program ended with exit code 4" in errors
    assert "imported Triton" not in errors  # each run used its own version


@pytest.mark.process
def test_run_under_another_version_is_reported(versions, run_bench, capsys):
    cache = cache_folder(os.environ)
    shutil.copytree(cache / f"{OTHER}-{tag()}", cache / f"99.0.2-{tag()}", symlinks=True)
    assert main(["bisect", "--triton", "99.0.2", "--run", run_bench[1]]) == 0
    assert f"should run under Triton 99.0.2, but imported Triton {OTHER}" in capsys.readouterr().err


@pytest.mark.process
def test_missing_version_has_a_row_and_an_error(versions, run_bench, monkeypatch, capsys):
    monkeypatch.setattr("kvtrace.addons.ci.triton_versions.shutil.which", lambda _: None)
    monkeypatch.setattr("kvtrace.addons.ci.triton_versions._has_pip", lambda: False)
    words = ["bisect", "--triton", f"{versions[0]},0.0.1", "--run", run_bench[1]]
    assert main(words) == 2
    output, errors = capsys.readouterr()
    assert "needs uv or pip" in errors
    assert re.search(r"^0\.0\.1 +not installed +-$", output, re.MULTILINE)


@pytest.mark.parametrize("words", ["", "3.6.0,3.6.0"])
def test_missing_or_repeated_versions_are_an_error(project, words, capsys):
    assert main(["bisect", "--triton", words, "--run", "true"]) == 2
    assert "needs versions of Triton without repetition" in capsys.readouterr().err


def test_each_version_has_a_row_of_verdicts():
    outcomes = [Outcome("3.5.1", None, 0), Outcome("3.8.0", "no kernel", 1)]
    assert versions_table(outcomes) == [
        "Triton  program             rules",
        "3.5.1   right               -",
        "3.8.0   wrong: exit code 1  -",
    ]
