"""KVTRACE_SANITIZE: each new call is judged before its first launch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import kvtrace
from corpus.kernels import index_kernels
from kvtrace.backends.compiled_kernels.judged_launches import storage_contents
from kvtrace.schema.errors import KernelDefect
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends import live_kernels as kernels
from tests.support.triton_versions import TRITON


@pytest.fixture
def tensors():
    """A source of 1000 numbers, and zeros for the result."""
    return torch.randn(1000), torch.zeros(1000)


def rows_of(out: Path, table: str) -> list[dict]:
    return plain_rows(open_trace(out).table(table))


def bounds_verdicts(out: Path, call: int) -> list[str]:
    """Verdicts on the bounds of a call, in the order of its accesses."""
    matching = (row for row in rows_of(out, "findings") if row["rule"] == "out-of-bounds")
    return [row["verdict"] for row in matching if row["call_id"] == call]


def messages(out: Path, code: str) -> list[str]:
    return [row["text"] for row in rows_of(out, "messages") if row["code"] == code]


def test_contents_are_those_of_the_whole_storage():
    base = torch.arange(6, dtype=torch.int32)
    assert storage_contents(base[2:]) == base.numpy().tobytes()


def test_copying_contents_shows_no_operators_to_what_watches_the_program():
    base, without_memory = torch.arange(6), torch.empty(6, device="meta")
    with torch.profiler.profile() as profiled:
        base.neg()
        storage_contents(base)
        with pytest.raises(NotImplementedError):
            storage_contents(without_memory)
        base.neg()

    names = [event.name for event in profiled.events() if event.name.startswith("aten::")]
    assert names == ["aten::neg", "aten::neg"]


def test_a_defect_is_reported_once_and_the_kernel_is_launched(tmp_path, tensors, capsys):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="warn"):
        for _ in range(3):
            kernels.copy[(4,)](source, result, 1000, BLOCK=256)
        kernels.copy[(5,)](source, result, 1000, BLOCK=256)

    stderr = capsys.readouterr().err
    column = 12 if TRITON >= (3, 8) else 20  # `tl.load`, or what is loaded
    place = rf"live_kernels\.py:9:{column}: error\[out-of-bounds\]: load ends"
    assert len(re.findall(place, stderr)) == 1
    assert "    return tl.load(source + offsets)  # no mask\n" in stderr
    assert "called at: " in stderr
    assert "lane 232 of program (3, 0, 0)" in stderr
    assert re.search(rf"at\s+\S*{Path(__file__).name}:\d+", stderr)
    assert torch.equal(source, result)
    assert len(rows_of(tmp_path, "launches")) == 4
    assert messages(tmp_path, "defect")[0] == (
        "call 0 of copy was launched nevertheless: out-of-bounds"
    )
    assert "violation" in bounds_verdicts(tmp_path, 0)
    assert messages(tmp_path, "not-judged") == []


def test_sanitize_raise_forbids_the_launch_of_a_call_with_a_defect(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        kernels.copy[(3,)](source, result, 768, BLOCK=256)
        for _ in range(2):
            with pytest.raises(kvtrace.KernelDefect, match="error\\[out-of-bounds\\]") as raised:
                kernels.copy[lambda meta: (1024 // meta["BLOCK"],)](source, result, 1000, BLOCK=256)

    assert torch.equal(result[:768], source[:768])
    assert not result[768:].any()
    (finding,) = raised.value.findings
    assert (finding["rule"], finding["past_end_bytes"], finding["line"]) == ("out-of-bounds", 4, 9)
    assert [row["call_id"] for row in rows_of(tmp_path, "launches")] == [0]
    assert len(rows_of(tmp_path, "calls")) == 2
    assert bounds_verdicts(tmp_path, 0) == ["proven", "proven"]
    assert sorted(bounds_verdicts(tmp_path, 1)) == ["proven", "violation"]
    assert messages(tmp_path, "defect") == ["call 1 of copy was not launched: out-of-bounds"]


def test_a_call_is_judged_once_and_recorded_once(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        for _ in range(20):
            kernels.copy[(3,)](source, result, 768, BLOCK=256)
            kernels.copy[(3,)](source, result, count=768, BLOCK=256)

    assert len(rows_of(tmp_path, "kernels")) == 1
    assert len(rows_of(tmp_path, "calls")) == 1
    assert len(rows_of(tmp_path, "launches")) == 40
    assert bounds_verdicts(tmp_path, 0) == ["proven", "proven"]


def test_a_warning_is_reported_and_forbids_a_launch_only_if_strict(tmp_path, capsys):
    whole, result = torch.randn(1000), torch.zeros(1000)
    view = whole[:990]
    with kvtrace.capture(tmp_path / "a", sanitize="raise"):
        kernels.copy[(3,)](view[:760], result, 768, BLOCK=256)
    assert "warning[out-of-view]" in capsys.readouterr().err
    assert torch.equal(result[:768], whole[:768])

    with (
        kvtrace.capture(tmp_path / "b", sanitize="raise", strict=True),
        pytest.raises(KernelDefect, match="warning\\[out-of-view\\]"),
    ):
        kernels.copy[(3,)](view[:760], result, 768, BLOCK=256)


def test_a_comment_in_the_source_suppresses(tmp_path, tensors, capsys):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        kernels.copy_on_purpose[(4,)](source, result, 1000, BLOCK=256)

    assert torch.equal(source, result)
    assert "error[" not in capsys.readouterr().err
    assert "violation" in bounds_verdicts(tmp_path, 0)


def test_rules_can_be_left_out(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise", rules="-out-of-bounds"):
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    assert "out-of-bounds" not in {row["rule"] for row in rows_of(tmp_path, "findings")}
    assert torch.equal(source, result)


def test_an_unknown_rule_is_reported_and_the_default_rules_are_used(tmp_path, tensors, capsys):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="warn", rules="out-of-mind"):
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    stderr = capsys.readouterr().err
    assert "there is no rule 'out-of-mind'" in stderr
    assert "error[out-of-bounds]" in stderr


def test_a_verdict_that_depends_on_data_is_a_defect_only_if_strict(tmp_path, tensors):
    source, result = tensors
    chosen = torch.arange(1000)
    with kvtrace.capture(tmp_path / "a", sanitize="raise", tensors="none"):
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)
    assert sorted(bounds_verdicts(tmp_path / "a", 0)) == ["proven", "proven", "unknown"]

    with (
        kvtrace.capture(tmp_path / "b", sanitize="raise", strict=True, tensors="none"),
        pytest.raises(KernelDefect, match="unknown\\[out-of-bounds\\]"),
    ):
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)


@pytest.mark.parametrize("kept", ["index", "int"])
def test_recorded_contents_decide_verdicts_that_depend_on_data(tmp_path, tensors, kept):
    source, result = tensors
    chosen = torch.arange(1000)
    chosen[17] = 1003
    with (
        kvtrace.capture(tmp_path, sanitize="raise", tensors=kept),
        pytest.raises(KernelDefect, match="error\\[out-of-bounds\\]"),
    ):
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)


def test_autotuned_and_compiled_kernels_are_judged_too(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        with pytest.raises(KernelDefect, match="kernel tuned"):
            kernels.tuned[lambda meta: (-(-1000 // meta["BLOCK"]),)](source, result, 1000)
        compiled = kernels.copy.warmup(source, result, 1000, BLOCK=256, grid=(4,))
        with pytest.raises(KernelDefect, match="kernel copy"):
            compiled[(4, 1, 1)](source, result, 1000, 256)
    assert not result.any()


def test_an_empty_grid_has_no_defect(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        kernels.copy[(0,)](source, result, 1000, BLOCK=256)
    assert rows_of(tmp_path, "findings") == []


def test_kernels_that_are_not_recorded_are_not_judged(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise", kernels="softmax*"):
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    assert torch.equal(source, result)


def test_a_failure_of_kvtrace_is_a_message_and_not_an_exception(tmp_path, tensors, monkeypatch):
    from kvtrace.backends.compiled_kernels import call_judge

    def broken(*_):
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr(call_judge, "judge", broken)
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="raise"):
        kernels.copy[(3,)](source, result, 768, BLOCK=256)
    assert torch.equal(source[:768], result[:768])
    (text,) = messages(tmp_path, "not-judged")
    assert "RuntimeError: what nobody thought of" in text


def test_a_mode_that_watches_ops_and_judging_agree_on_calls(tmp_path, tensors):
    source, result = tensors
    with kvtrace.capture(tmp_path, sanitize="warn", mode="ops"):
        kernels.copy[(3,)](source, result, 768, BLOCK=256)
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    ops = {row["call_id"] for row in rows_of(tmp_path, "ops")}
    assert ops == {0, 1}
    assert bounds_verdicts(tmp_path, 0) == ["proven", "proven"]
    assert "violation" in bounds_verdicts(tmp_path, 1)


def test_without_sanitize_triton_is_not_changed(tmp_path):
    from triton.compiler.compiler import CompiledKernel

    before, x = CompiledKernel.run, torch.zeros(8)

    def is_changed():
        index_kernels.add[(1,)](x, x, x, 8, BLOCK=8)  # the first launch changes it
        return CompiledKernel.run is not before

    with kvtrace.capture(tmp_path, tensors="none"):
        assert not is_changed()
    with kvtrace.capture(tmp_path):
        assert is_changed()
    assert CompiledKernel.run is before
    with kvtrace.capture(tmp_path, sanitize="warn"):
        assert is_changed()
    assert CompiledKernel.run is before


PROGRAM = """
import torch
from tests.backends import live_kernels as kernels
from corpus.kernels import index_kernels
source, result = torch.ones(1000), torch.zeros(1000)
kernels.copy[(4,)](source, result, 1000, BLOCK=256)
print("went on", result.sum().item())
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("asked", "rules", "code"), [("raise", "default", 1), ("1", "out-of-view", 0)]
)
def test_a_program_is_judged_by_the_command_and_its_environment(tmp_path, asked, rules, code):
    root = Path(__file__).resolve().parents[3]
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "kvtrace", "run", "--sanitize", asked, "program.py"]
    variables = {"PYTHONPATH": str(root), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "KVTRACE_RULES": rules, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    assert ("KernelDefect: " in done.stderr) is (code == 1)
    assert ("went on 1000.0" in done.stdout) is (code == 0)
    assert ("error[out-of-bounds]:" in done.stderr) is (code == 1)
    trace = open_trace(tmp_path / "out")
    assert "sanitizer" in trace.passes(trace.runs[0].run_id)
