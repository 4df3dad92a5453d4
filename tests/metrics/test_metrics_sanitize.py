"""Verdicts on the accesses of a recorded run."""

import json
from pathlib import Path

import numpy as np
import pytest

from kvtrace.cli import main
from kvtrace.clients import replay
from kvtrace.evaluate import evaluate
from tests.metrics.conftest import line_of


def sanitize(trace, run):
    return replay(trace, run, clients=("sanitizer",))


@pytest.fixture(scope="module")
def findings(recorded):
    """What `kvtrace sanitize --all --json` prints, and its exit code."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(["sanitize", str(recorded), "--all", "--json"])
    return json.loads(printed.getvalue())["verdicts"], code


def of(findings, kernel, verdict=None):
    return [f for f in findings[0] if f["kernel"] == kernel and verdict in (None, f["verdict"])]


def test_every_access_gets_a_verdict(findings, trace):
    calls = trace.table("calls", columns=["call_id"]).num_rows
    assert calls == 7
    assert {f["verdict"] for f in findings[0]} == {"proven", "violation", "unknown"}
    assert findings[1] == 1


def test_a_store_past_its_storage_has_a_witness_at_its_line(findings):
    (result,) = [
        f for f in of(findings, "copy_without_mask", "violation") if f["rule"] == "out-of-bounds"
    ]
    assert result["line"] == line_of("the store has none")
    assert result["file"].endswith("kernels.py")
    assert (result["access"], result["arg"]) == ("store", "result")
    assert result["program"] == [3, 0, 0]
    assert result["lane"] == [232]
    assert result["address_offset"] == 4000
    assert result["past_end_bytes"] == 4
    assert result["lanes"] == 24


def test_a_store_past_its_view_but_inside_its_storage_is_told_apart(findings):
    (result,) = [
        f for f in of(findings, "copy_without_mask", "violation") if f["rule"] == "out-of-view"
    ]
    assert result["severity"] == "warning"
    assert result["address_offset"] == 400
    assert "inside its storage" in result["message"]


def test_an_access_before_the_start_is_negative(findings):
    (result,) = of(findings, "read_before", "violation")
    assert result["arg"] == "source"
    assert result["address_offset"] == -8
    assert result["past_end_bytes"] < 0
    assert "before the start" in result["message"]


def test_again_replaces_only_the_rows_of_sanitize(trace):
    (run,) = trace.runs
    before = trace.table("launches").num_rows
    sanitize(trace, run)
    first = trace.table("findings")
    outcome = sanitize(trace, run)
    second = trace.table("findings")
    assert outcome.failures == ()
    assert first.equals(second)
    assert trace.table("launches").num_rows == before


def test_ids_tell_findings_of_different_calls_apart(trace):
    (run,) = trace.runs
    sanitize(trace, run)
    ids = trace.table("findings", columns=["finding_id"])["finding_id"].to_pylist()
    assert len(set(ids)) == len(ids)


@pytest.mark.process
@pytest.mark.parametrize("target", ["cuda:90", "cuda:80"])
def test_host_descriptors_are_replayed(tmp_path, target):
    """Descriptors check their own bounds; targets without them get pointers instead."""
    from kvtrace.schema.trace import open_trace
    from tests.support.warm_python import warm_python

    program = (
        "import torch\n"
        "from triton.tools.tensor_descriptor import TensorDescriptor\n"
        "from tests.metrics.kernels import copy_tiles\n"
        "x, y = torch.randn(40, 72), torch.zeros(40, 72)\n"
        "make = lambda t: TensorDescriptor.from_tensor(t, [32, 32])\n"
        "copy_tiles[(2, 3)](make(x), make(y), TILE=32)\n"
        "assert torch.equal(x, y)\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    root = Path(__file__).resolve().parents[2]
    command = "import runpy, kvtrace; kvtrace.start('out', target=%r); runpy.run_path(%r)"
    variables = {"PYTHONPATH": str(root), "PATH": "", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = warm_python().run(
        "-c", command % (target, str(script)), folder=tmp_path, environment=variables
    )
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "out")
    assert sanitize(trace, trace.runs[0]).failures == ()

    rows = trace.table("findings").to_pylist()
    assert {row["verdict"] for row in rows} == {"proven"}
    bounds = [row for row in rows if row["rule"] == "out-of-bounds"]
    assert {row["access"] for row in bounds} == {"load", "store"}


@pytest.mark.process
@pytest.mark.parametrize("target", ["cuda:90", "cuda:80"])
def test_host_descriptors_pad_as_they_were_told_while_running_and_replayed(tmp_path, target):
    from kvtrace.evaluate import evaluate
    from kvtrace.recorded_calls.reading import calls_of
    from kvtrace.schema.trace import open_trace
    from tests.support.warm_python import warm_python

    program = (
        "import torch\n"
        "from triton.tools.tensor_descriptor import TensorDescriptor\n"
        "from tests.metrics.kernels import corner_tile\n"
        "import kvtrace\n"
        f"kvtrace.start('out', target={target!r}, tensors='all')\n"
        "for padding, filled in (('nan', float('nan')), ('zero', 0.0)):\n"
        "    x, y = torch.ones(20, 20), torch.full((32, 32), 7.0)\n"
        "    source = TensorDescriptor.from_tensor(x, [32, 32], padding)\n"
        "    corner_tile[(1,)](source, y, 12, TILE=32)\n"
        "    expected = torch.full((32, 32), filled)\n"
        "    expected[:8, :8] = 1\n"
        "    torch.testing.assert_close(y, expected, equal_nan=True)\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    root = Path(__file__).resolve().parents[2]
    variables = {"PYTHONPATH": str(root), "PATH": "", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = warm_python().run(str(script), folder=tmp_path, environment=variables)
    assert done.returncode == 0, done.stderr

    trace = open_trace(tmp_path / "out")
    calls = list(calls_of(trace, trace.runs[0]))
    assert len(calls) == 2
    for call, filled in zip(calls, (np.nan, 0.0), strict=True):
        source, (result,) = call.arguments[0], (a for a in call.arguments if a.name == "result")
        source.storage.data = np.ones(400, np.float32).view(np.uint8)
        evaluate(call.module, call.arguments, call.grid)
        tile = result.storage.data.view(np.float32).reshape(32, 32)
        expected = np.full((32, 32), filled, np.float32)
        expected[:8, :8] = 1
        assert np.array_equal(tile, expected, equal_nan=True)


def test_a_device_assert_that_fails_is_a_finding_with_its_program(tmp_path):
    """On a GPU such a launch is recorded, for it fails later; without one, launching raises."""
    import torch

    import kvtrace
    from kvtrace.evaluate.errors import DeviceAssertion
    from kvtrace.recorded_calls.reading import calls_of
    from kvtrace.schema.trace import open_trace
    from kvtrace.verdicts.judge import Judgment
    from tests.metrics import kernels

    chosen = torch.arange(1000)
    launch = kernels.checked_gather[(4,)]
    with kvtrace.capture(tmp_path / "out", tensors="int"):
        launch(torch.randn(1000), chosen, torch.empty(1000), 1000, BLOCK=256)
        chosen[700] = 1000
        with pytest.raises(DeviceAssertion, match=r"program \(2, 0, 0\): the index is too large"):
            launch(torch.randn(1000), chosen, torch.empty(1000), 1000, BLOCK=256)
    trace = open_trace(tmp_path / "out")
    (call,) = calls_of(trace, trace.runs[0])
    indices = call.arguments[1].storage.data.view("i8")
    indices[700] = 1000

    judgment = Judgment(call)
    with pytest.raises(DeviceAssertion) as ended:
        evaluate(call.module, call.arguments, call.grid, observers=judgment.observers)
    verdicts = judgment.verdicts(str(ended.value))

    (result,) = [verdict for verdict in verdicts if verdict.verdict == "violation"]
    assert result.rule == "device-assert"
    assert (result.program, result.lane, result.lanes) == ((2, 0, 0), (700 - 512,), 1)
    assert result.message == "device_assert fails: the index is too large"
    # The loads of the indices are proven for all contents; what they decide ended with the launch.
    (gathered,) = [verdict for verdict in verdicts if verdict.verdict == "unknown"]
    assert "the index is too large" in gathered.reason
