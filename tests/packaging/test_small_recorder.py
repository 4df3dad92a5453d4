"""A recorder in a production image: kvtrace, pyarrow, torch and Triton, and nothing else."""

import json
import re

import pytest

from kvtrace.converters.info.info import read_overview
from kvtrace.schema.errors import PACKAGES
from kvtrace.schema.trace import open_trace
from tests.support.tree import ROOT

pytestmark = pytest.mark.process

PROGRAM = ROOT / "tests" / "support" / "small_program.py"
FIND = "import importlib.util, sys; print([n for n in sys.argv[1:] if importlib.util.find_spec(n)])"


@pytest.fixture(scope="module")
def recorded(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    done = small.run(
        small.python, PROGRAM, "10", folder=folder, KVTRACE="out", KVTRACE_TENSORS="int",
        TRITON_CACHE_DIR=str(folder / "triton"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "kvtrace" not in done.stderr.replace(str(small.folder), "")
    return folder


def test_small_environment_has_only_kvtrace_and_pyarrow(small, tmp_path):
    done = small.run(small.python, "-c", FIND, *PACKAGES, "typer", "rich", folder=tmp_path)
    assert done.stdout == "[]\n"


def test_small_recorder_validates_and_shows_its_recording(small, recorded):
    kvtrace = small.folder / "bin" / "kvtrace"
    checked = small.run(kvtrace, "trace", "validate", "out", folder=recorded)
    assert (checked.returncode, checked.stdout) == (0, "out is fine\n"), checked.stderr
    shown = small.run(kvtrace, "info", "out", "--all", "--json", folder=recorded)
    assert shown.returncode == 0, shown.stderr
    of_small = json.loads(shown.stdout)["runs"]
    trace = open_trace(recorded / "out")
    of_all = read_overview(trace, trace.runs).runs
    assert [run["launches"] for run in of_small] == [run.launches for run in of_all]
    assert [run["versions"].get("numpy") for run in of_small] == [None, None]
    assert of_small[0]["launches"] == 26
    assert of_small[0]["known_contents"] > 0


def test_commands_that_need_more_packages_name_the_install_command(small, recorded):
    kvtrace = small.folder / "bin" / "kvtrace"
    done = small.run(kvtrace, "sanitize", "out", folder=recorded)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"kvtrace: sanitize needs \w+, which is not installed here; pip install kvtrace installs "
        r"it\.\n",
        done.stderr,
    )
    doctor = small.run(kvtrace, "doctor", folder=recorded)
    assert doctor.returncode == 0, doctor.stdout
    assert "pip install kvtrace, here or where traces are analyzed" in doctor.stdout
