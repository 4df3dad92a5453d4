"""A newcomer's way, from the wheel to the page, in an environment that has nothing else.

Every command is run as the README writes it. The one
thing that differs from a newcomer's machine: nothing is fetched. What `kvtrace[triton]` asks for is
linked from the environment that runs these tests, that and no more, and pip is asked to resolve the
wheel's requirements against it, so that one which is missing, too old or not declared fails here.
Fetching torch anew in each run would take minutes and measure the network.
"""

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.packaging.conftest import Environment, make_resolved

pytestmark = pytest.mark.process

PROGRAM = """\
import torch, triton, triton.language as tl

@triton.jit
def double(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + index)  # no mask
    tl.store(result + index, value * 2, mask=index < size)

source = torch.ones(1000)
double[(4,)](source, torch.empty_like(source), 1000, BLOCK=256)
"""
#: Seconds that no step may take: those of a test, whatever else the machine does.
PATIENCE = 300


@pytest.fixture(scope="module")
def newcomer(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment after `pip install kvtrace[triton]`."""
    return make_resolved(tmp_path_factory.mktemp("newcomer"), wheel, "triton")


class Way:
    """Commands in one folder, with the newcomer's PATH, no browser, and a time for each."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        self.folder = folder
        self.path = f"{environment.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def start(self, command: str, **variables: str) -> subprocess.Popen[str]:
        name, *arguments = command.split()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KVTRACE", "PYTHON", "TRITON"))
        }
        return subprocess.Popen(
            [shutil.which(name, path=self.path) or name, *arguments],
            cwd=self.folder,
            env=kept | {"PATH": self.path, "HOME": str(self.folder), "BROWSER": "true"} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def go(self, command: str, **variables: str) -> tuple[int, str]:
        """The command's exit code, and what it said."""
        process = self.start(command, **variables)
        said, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, said


@pytest.fixture
def way(newcomer: Environment, tmp_path: Path) -> Way:
    return Way(newcomer, tmp_path)


def test_wheel_alone_records_a_finding_and_writes_a_page(way, tmp_path, record_property):
    began = time.monotonic()
    (tmp_path / "prog.py").write_text(PROGRAM)
    line = 1 + PROGRAM[: PROGRAM.index("tl.load")].count("\n")

    assert way.go("python prog.py", KVTRACE="out")[0] == 0

    code, said = way.go("kvtrace sanitize out")
    assert code == 1
    assert re.search(rf"prog\.py:{line}:\d+: error\[out-of-bounds\]: load ends", said), said

    code, said = way.go("kvtrace view out")
    assert code == 0, said
    (address,) = re.findall(r"file://\S+", said)
    with urllib.request.urlopen(address, timeout=300) as page:
        text = page.read().decode()
    assert text.startswith("<!doctype html>")
    assert "<title>out" in text
    with way.start("kvtrace view out --serve --no-browser") as served:
        assert served.stdout is not None
        address = next(found for line in served.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(address[0], timeout=300) as page:
            assert page.read().decode().startswith("<!doctype html>")
        served.send_signal(signal.SIGINT)
    assert served.returncode == 0
    record_property("seconds", round(time.monotonic() - began, 1))


def test_timeline_is_served_until_it_was_fetched(way, tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    assert way.go("python prog.py", KVTRACE="out")[0] == 0

    with way.start("kvtrace view out --perfetto --wait 40") as served:
        assert served.stdout is not None
        address = next(found for line in served.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(address[0] + "trace", timeout=300) as timeline:
            assert b"double" in timeline.read()
        urllib.request.urlopen(address[0] + "done", data=b"", timeout=300).close()
        said, _ = served.communicate(timeout=PATIENCE)

    assert served.returncode == 0
    assert "the Perfetto UI has the timeline" in said
