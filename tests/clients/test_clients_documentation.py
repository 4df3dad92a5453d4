"""Runs the examples of docs/clients.md, and installs its plugin to run it by name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.clients import replay
from kvtrace.schema.trace import open_trace
from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")


def block(language, number):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]


def run(*command, cwd, **variables):
    path = os.pathsep.join([str(ROOT), *([variables.pop("path")] if "path" in variables else [])])
    environment = os.environ | {"PYTHONPATH": path} | variables
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    """A folder into which pip has installed the package of the page."""
    package = tmp_path_factory.mktemp("always-true")
    (package / "always_true.py").write_text(block("python", 0))
    (package / "pyproject.toml").write_text(block("toml", 0))
    target = tmp_path_factory.mktemp("plugins")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    done = run("-m", "pip", "install", *options, "--target", target, package, cwd=package)
    assert done.returncode == 0, done.stderr
    return target


def kvtrace(*arguments, plugins, cwd):
    code = "import sys; from kvtrace.cli import main; sys.exit(main())"
    return run("-c", code, *arguments, cwd=cwd, path=str(plugins))


def test_the_example_is_short():
    lines = [line for line in block("python", 0).splitlines() if line.strip()]
    assert len(lines) <= 36


@pytest.mark.process
def test_an_installed_client_of_another_package_runs_by_name(plugins, recorded, tmp_path):
    done = kvtrace("replay", recorded, "--client", "always-true", plugins=plugins, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    trace = open_trace(recorded)
    kinds = {r["op_index"]: r["kind"] for r in trace.table("ops").to_pylist()}
    assert kinds == {}  # these rows are the profiler's, which was not selected
    assert trace.table("client_always_true").to_pylist() == []  # 1000 is no multiple of 256

    query = re.search(r'kvtrace sql out/ "(.*?)"', PAGE, re.DOTALL)[1]
    done = kvtrace("sql", recorded, query, plugins=plugins, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(0 rows)" in done.stdout


@pytest.mark.process
def test_an_installed_client_is_listed_by_its_name(plugins, recorded, tmp_path):
    done = kvtrace("replay", recorded, "--client", "painter", plugins=plugins, cwd=tmp_path)

    assert done.returncode == 2
    assert "clients are tracer, profiler, sanitizer, always-true." in done.stderr


@pytest.mark.process
def test_a_plugin_that_cannot_be_loaded_is_one_sentence(plugins, recorded, tmp_path):
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[kvtrace.clients]\nbroken = not_there:Client\n")

    done = kvtrace("replay", recorded, "--client", "broken", plugins=tmp_path, cwd=tmp_path)

    assert done.returncode == 2
    assert "the client 'broken' (not_there:Client) cannot be loaded" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.process
def test_failing_plugin_is_reported_and_other_clients_rows_are_written(recorded, tmp_path):
    metadata = tmp_path / "faulty-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[kvtrace.clients]\nfaulty = faulty:Faulty\n")
    (tmp_path / "faulty.py").write_text(
        "from kvtrace.clients import Client\n"
        "class Faulty(Client):\n"
        "    def access(self, access):\n"
        "        raise LookupError(access.kind)\n"
    )

    clients = ("--client", "faulty", "--client", "profiler")
    done = kvtrace("replay", recorded, *clients, plugins=tmp_path, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "kvtrace: the client faulty failed on LookupError: load (faulty.py:4)\n"
    assert open_trace(recorded).table("ops").num_rows > 10


def test_the_example_finds_masks_that_are_true_everywhere(tmp_path):
    import torch

    import kvtrace as recording
    from tests.clients import kernels

    with recording.capture(tmp_path / "out"):
        for size in (1000, 1024):
            x = torch.zeros(size)
            kernels.scale[(4,)](x, torch.zeros(size), size, 2.0, BLOCK=256)
    example = {}
    exec(block("python", 0), example)
    trace = open_trace(tmp_path / "out")

    outcome = replay(trace, trace.runs[0], clients=[example["AlwaysTrue"]()])

    rows = trace.table("client_always_true").to_pylist()
    frames = {row["stack_id"]: row["frames"][0] for row in trace.table("stacks").to_pylist()}
    assert outcome.errors == ()
    assert [(row["call_id"], row["lanes"]) for row in rows] == [(1, 1024), (1, 1024)]
    assert all(frames[row["stack_id"]]["file"].endswith("kernels.py") for row in rows)


def test_documented_hooks_read_and_change_values(over):
    example = {}
    exec(block("python", 1), example)
    births, coarse = example["Births"](), example["Coarse"]()

    outcome, _ = over(births, coarse)

    assert outcome.errors == ()
    assert births.births == {}
    assert outcome.notes == ("coarse is based on a sample: 2 of 10 programs of 2 calls",)


@pytest.mark.process
def test_documented_traced_kernel_runs(tmp_path):
    (tmp_path / "program.py").write_text(block("python", 2))

    variables = {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = warm_python().run("program.py", folder=tmp_path, environment=os.environ | variables)

    assert done.returncode == 0, done.stderr
    assert "ends 4 bytes past the end of x; 24 lanes of the grid are out of bounds" in done.stdout
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 1
    rows = trace.table("findings").to_pylist()
    verdicts = [row["verdict"] for row in rows if row["rule"] == "out-of-bounds"]
    assert sorted(verdicts) == ["proven", "violation"]
