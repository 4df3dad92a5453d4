"""`launch_metadata` of kernels: recorded once a call, whatever the author's function does."""

from types import SimpleNamespace

import pytest

import kvtrace
from kvtrace.backends.triton.free_driver import DeviceFreeDriver
from kvtrace.backends.triton.launch_metadata import stated_work
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = triton.language

asked = []


def stated(grid, metadata, args):
    asked.append(args["size"])
    return {
        "name": f"{metadata.name} [{args['size']} by {args['BLOCK']} in {grid[0]}]",
        "flops16": args["size"],
        "flops": torch.tensor(3),  # Proton reads tensors; that waits for the device
        "bytes": 8.0 * args["size"],
        "factor": args["factor"],
    }


def raises(*_):
    raise SystemExit(3)


def is_no_mapping(*_):
    return 7


def body(source, result, size, factor=2.0, BLOCK: tl.constexpr = 256):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + lanes, mask=lanes < size)
    tl.store(result + lanes, value * factor, mask=lanes < size)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Launches of two sizes, five each, and one of a kernel without and of two with bad ones."""
    folder = tmp_path_factory.mktemp("stated")
    kernels = [triton.jit(launch_metadata=fn)(body) for fn in (stated, None, raises, is_no_mapping)]
    with pytest.MonkeyPatch.context() as patch, kvtrace.capture(folder):
        # Tests before may have left another driver, of which launches do nothing.
        patch.setattr(triton.runtime.driver, "_active", DeviceFreeDriver("cuda:90"))
        for size in (1000, 2000):
            source, result = torch.ones(size), torch.empty(size)
            for _ in range(5):
                kernels[0][(triton.cdiv(size, 256),)](source, result, size)
            assert torch.equal(result, source * 2)
        for kernel in kernels[1:]:
            kernel[(8, 1)](source, result, size=size, BLOCK=256)
    return open_trace(folder)


def test_each_call_has_what_its_author_states_once(trace):
    calls = [row["stated"] for row in trace.table("calls", trace.runs, ["stated"]).to_pylist()]
    none = dict.fromkeys(("flops8", "flops32", "flops64", "flops"))
    assert calls[:2] == [
        {"name": "body [1000 by 256 in 4]", "flops16": 1000.0, "bytes": 8000.0} | none,
        {"name": "body [2000 by 256 in 8]", "flops16": 2000.0, "bytes": 16000.0} | none,
    ]
    assert calls[2:] == [None] * 3
    assert asked == [1000, 2000]


def test_nothing_of_the_author_runs_while_a_graph_is_captured(monkeypatch):
    kernel = SimpleNamespace(src=SimpleNamespace(fn=triton.jit(launch_metadata=raises)(body)))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    said = []
    session = SimpleNamespace(message=lambda *message: said.append(message))
    assert stated_work(session, kernel, (1, 1, 1), (), {}) is None
    assert said == []
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert stated_work(session, kernel, (1, 1, 1), (), {}) is None
    assert len(said) == 1


def test_what_fails_or_is_no_number_is_a_message(trace):
    rows = trace.table("messages", trace.runs, ["code", "text"]).to_pylist()
    texts = {row["text"] for row in rows if row["code"] == "launch-metadata"}
    assert texts == {
        "launch_metadata of body gives flops as Tensor, not a number",
        "launch_metadata of body failed: SystemExit: 3",
        "launch_metadata of body failed: AttributeError: 'int' object has no attribute 'get'",
    }
    assert not any(row["code"] == "capture-failure" for row in rows)


def test_redaction_keeps_numbers_and_replaces_the_name(trace, tmp_path):
    out = tmp_path / "redacted"
    assert main(["trace", "redact", str(trace.path), "-o", str(out), "--all"]) == 0
    redacted = open_trace(out)
    call = redacted.table("calls", redacted.runs, ["stated"]).to_pylist()[0]["stated"]
    assert call["bytes"] == 8000.0
    assert "body" not in call["name"]
