"""Inductor's launches, kept to be checked and looked at."""

from pathlib import Path
from typing import Any

import pytest
import torch

import kvtrace
from kvtrace.addons.check.recording import memory_needed
from kvtrace.schema.trace import open_trace
from tests.support.autotuned_by_inductor import autotuner

pytestmark = pytest.mark.process

__all__ = ["autotuner"]


@pytest.mark.parametrize("tensors", ["index", "all"])
def test_memory_of_selected_inductor_launches_is_recorded(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: str
) -> None:
    x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)

    def held() -> list[bytes]:
        return [tensor.clone().numpy().tobytes() for tensor in (x, y, out)]

    wanted = {}
    with kvtrace.capture(tmp_path / "out", check="sample:2", tensors=tensors):
        for seq in range(4):
            before = held()
            autotuner.run(x, y, out, 1000, stream=0)
            wanted[seq] = (*before, held()[2])
            x += 1
            autotuner.run(x, x, out, 1000, stream=0, benchmark_run=True)

    trace = open_trace(tmp_path / "out")
    launches = trace.table("checked_launches").to_pylist()
    assert [(row["seq"], row["why"], row["programs"]) for row in launches] == [
        (0, "sample", None),
        (4, "sample", None),
    ]
    memory = trace.table("checked_memory").to_pylist()
    for seq in (0, 4):
        kept = [row for row in memory if row["seq"] == seq]
        kept.sort(key=lambda row: (row["arg"], row["when"]))
        assert [(row["arg"], row["when"]) for row in kept] == [
            (0, "before"), (1, "before"), (2, "after"), (2, "before")
        ]  # fmt: skip
        first, second, after, before = (trace.artifact(row["artifact"]) for row in kept)
        assert (first, second, before, after) == wanted[seq // 2]
    contents = trace.table("contents", columns=["seq"])["seq"].to_pylist()
    assert 0 in contents if tensors == "all" else not contents


def test_only_some_programs_of_a_large_launch_are_recorded(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_needed, "LAUNCH_BYTES", 20_000)
    monkeypatch.setattr(memory_needed, "PROGRAMS", 3)
    x, y, out = torch.randn(100_000), torch.randn(100_000), torch.zeros(100_000)
    with kvtrace.capture(tmp_path / "out", check="first"):
        autotuner.run(x, y, out, 100_000, stream=0)
    trace = open_trace(tmp_path / "out")
    (launch,) = trace.table("checked_launches").to_pylist()
    assert launch["programs"] == [0, 195, 390]
    rows = trace.table("checked_memory").to_pylist()
    data = {0: x, 1: y, 2: out}
    for row in rows:
        assert [span["offset_bytes"] for span in row["spans"]] == [0, 195 * 1024, 390 * 1024]
        parts = [data[row["arg"]][p * 256 : p * 256 + 256] for p in launch["programs"]]
        if (row["arg"], row["when"]) != (2, "before"):
            content = trace.artifact(row["artifact"])
            assert content == b"".join(part.numpy().tobytes() for part in parts)


@pytest.mark.parametrize("tensors", ["index", "all"])
def test_outputs_of_inductor_launches_are_examined(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: str
) -> None:
    x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    with kvtrace.capture(tmp_path / "out", check="finite,digest,sample:2", tensors=tensors):
        for seq in range(4):
            if seq == 2:
                x[5], y[5] = float("inf"), -float("inf")
            autotuner.run(x, y, out, 1000, stream=0)
            autotuner.run(x, x, out, 1000, stream=0, benchmark_run=True)

    trace = open_trace(tmp_path / "out")
    digests = trace.table("digests").to_pylist()
    assert [(row["seq"], row["arg"], row["when"]) for row in digests] == [
        (seq, *of) for seq in (0, 2, 4, 6) for of in ((0, "before"), (1, "before"), (2, "after"))
    ]
    found = trace.table("non_finite").to_pylist()
    after = {(row["seq"], row["nan"]) for row in found if row["when"] == "after"}
    assert after == {(4, True), (6, True)}
    kept = trace.table("checked_launches", columns=["seq", "why"]).to_pylist()
    whys = sorted((row["seq"], row["why"]) for row in kept)
    assert whys == [(0, "sample"), (4, "finite"), (4, "sample")]
