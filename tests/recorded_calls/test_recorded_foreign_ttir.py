"""TTIR of another producer, as Triton prints it, is judged in the generic form made of it."""

from pathlib import Path

import pytest

import kvtrace
from kvtrace.recorded_calls import reading
from kvtrace.schema import without_ir
from kvtrace.schema.content import artifact_row
from kvtrace.schema.writer import RunWriter, new_run_id

triton = pytest.importorskip("triton")

from tests.support.corpus_cases import CORPUS  # noqa: E402

TENSOR = {"kind": "tensor", "dtype": "fp32", "strides": [1], "offset_bytes": 0, "alignment": 0}


def written(out: Path, ttir: str, elements: int = 1000):
    """A trace of one launch of `vector_add`, whose only stage is `ttir`, as another tool has it."""
    sizes = {"x": 1000, "y": 1000, "out": elements}
    args = [
        {**TENSOR, "name": name, "shape": [n], "storage_bytes": 4 * n, "alias_group": at}
        for at, (name, n) in enumerate(sizes.items())
    ]
    number = {"name": "n", "kind": "scalar", "dtype": "i32", "scalar": "1000"}
    block = {"name": "BLOCK", "kind": "constexpr", "scalar": "1024"}
    parameters = [{"name": name, "type": "*fp32"} for name in sizes]
    parameters += [{"name": "n", "type": "i32"}, {"name": "BLOCK", "type": "constexpr"}]
    content = artifact_row("ttir", ttir.encode())
    kernel = {
        "kernel_id": 0, "name": "vector_add", "target": "cuda:90", "num_warps": 4, "warp_size": 32,
        "signature": parameters, "stages": [{"stage": "ttir", "artifact": content["sha256"]}],
    }  # fmt: skip
    call = {"call_id": 0, "kernel_id": 0, "grid_x": 1, "grid_y": 1, "grid_z": 1}
    writer = RunWriter(out, new_run_id())
    writer.append_rows("artifacts", [content])
    writer.append_rows("kernels", [kernel])
    writer.append_rows("calls", [{**call, "args": [*args, number, block]}])
    writer.append_rows("launches", [{"seq": 0, "call_id": 0}])
    writer.seal({"producer": "acme"})
    return kvtrace.open(out)


@pytest.mark.parametrize(("elements", "verdict"), [(1000, None), (900, "violation")])
def test_triton_ir_as_printed_is_judged(tmp_path, elements, verdict):
    trace = written(tmp_path, CORPUS["vector_add"](), elements)
    found = trace.sanitize()
    assert {row.verdict for row in found} == ({verdict} if verdict else set())
    assert not found.notes
    assert trace.sanitize(proven=True).data.counts["vector_add"]["proven"] > 0


def test_generic_form_is_the_public_function(tmp_path):
    text = CORPUS["vector_add"]()
    assert kvtrace.generic_ttir(text).count('"tt.load"') == 2


def test_without_triton_the_reason_names_it(tmp_path, monkeypatch):
    trace = written(tmp_path, CORPUS["vector_add"]())
    for module in (without_ir, reading):
        monkeypatch.setattr(module, "makes_generic_ttir", lambda: False)
    (finding,) = trace.sanitize()
    assert finding.verdict == "unknown"
    assert "an installed Triton makes" in finding.message


def test_text_that_triton_cannot_read_is_refused_for_its_call(tmp_path):
    trace = written(tmp_path, "module { no IR }")
    (outcome,) = trace.replay()
    (failure,) = outcome.failures
    assert "cannot read the IR" in failure
