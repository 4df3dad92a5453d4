"""Texts of PyTorch's DebugMode: real ones of this torch, damaged ones, and those of other runs."""

import json
import time

import pytest

torch = pytest.importorskip("torch")
debug_mode = pytest.importorskip("torch.utils._debug_mode")

from kvtrace.cli import main  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.support.tree import ROOT  # noqa: E402


@pytest.fixture
def text():
    with (
        debug_mode.DebugMode(record_stack_trace=True, record_nn_module=True) as mode,
        debug_mode.DebugMode.log_tensor_hashes(["norm", "hash_tensor"], hash_inputs=True),
        debug_mode.DebugMode.dispatch_hooks(log_hook=lambda *_: {"time": time.time_ns()}),
    ):
        torch.nn.Linear(3, 1)(torch.full((2, 3), float("inf")))
    return mode.debug_string()


def imported(text, folder, *to):
    (folder / "log.txt").write_text(text)
    return main(["import", "debug_mode", str(folder / "log.txt"), *to])


def test_each_line_is_a_row_with_hashes_line_and_time(text, tmp_path):
    assert imported(text, tmp_path, "-o", str(tmp_path / "out")) == 0
    trace = open_trace(tmp_path / "out")
    rows = plain_rows(trace.table("tool_events", trace.runs).sort_by("record"))
    lines = [line for line in text.splitlines() if line.strip() and "# File: " not in line]
    assert [row["name"] in line for row, line in zip(rows, lines, strict=True)] == [True] * len(
        rows
    )
    (full,) = [row for row in rows if row["name"] == "aten::full"]
    args = json.loads(full["members"])["args"]
    assert (args["output"], args["log"]["hash"][0]) == ("t: f32[2, 3]", "inf")
    assert args["file"].endswith("test_debug_mode.py")
    assert full["begin"] is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: text.rindex("'hash'")],
        lambda text: text + "\nTraceback (most recent call last):",
        lambda text: text.replace("  aten::full(", "  aten::full", 1),
        lambda text: text + "\n  aten::x()  # {" + "-" * 9999 + "1}",
        lambda text: text + "\n  aten::x()  # {1}",
    ],
)
def test_a_damaged_text_is_one_sentence(text, tmp_path, capsys, damage):
    code = imported(damage(text), tmp_path, "-o", str(tmp_path / "out"))
    assert (code, len(capsys.readouterr().err.splitlines())) == (2, 1)


def test_a_log_of_another_run_is_refused_by_its_times(text, tmp_path, capsys):
    recording = ROOT / "tests" / "fixtures" / "profiled" / "eager" / "kvtrace"
    assert imported(text, tmp_path, "--into", str(recording), "--dry-run") == 2
    assert "did not run at these times" in capsys.readouterr().err
