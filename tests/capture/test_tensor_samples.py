"""Numbers of tensors at calls' first launches, without a GPU (`KVTRACE_TENSORS=stats`)."""

from pathlib import Path
from typing import Any

import pytest
import torch

import kvtrace
from corpus.kernels import index_kernels as kernels
from kvtrace.capture.tensor_samples import TensorSamples
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tensor_statistics import call_statistics
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

COUNT = 1000


def gather(source: torch.Tensor, chosen: torch.Tensor, result: torch.Tensor, grid: int = 4) -> None:
    kernels.gather[(grid,)](source, chosen, result, COUNT, BLOCK=256)


def rows_of(out: Path, table: str = "tensor_statistics") -> list[dict[str, Any]]:
    return plain_rows(open_trace(out).table(table))


@pytest.fixture
def chosen() -> torch.Tensor:
    return torch.arange(COUNT)


def test_numbers_are_those_that_the_first_launch_finds(
    tmp_path: Path, chosen: torch.Tensor
) -> None:
    source, result = torch.randn(COUNT), torch.full((COUNT,), 7.0)
    source[:100] = 0
    expected = source.double()
    with kvtrace.capture(tmp_path, tensors="stats"):
        gather(source, chosen, result)
        source.fill_(3)
        gather(source, chosen, result)
    rows = rows_of(tmp_path)
    assert [(row["seq"], row["arg"]) for row in rows] == [(0, 0), (0, 1), (0, 2)]
    assert {row["elements"] for row in rows} == {row["sampled"] for row in rows} == {COUNT}
    assert rows[0]["zeros"] == 100
    assert rows[0]["minimum"] == expected.min()
    assert rows[0]["mean"] == pytest.approx(float(expected.mean()))
    assert rows[0]["deviation"] == pytest.approx(float(expected.std(correction=0)))
    assert (rows[1]["sorted"], rows[1]["maximum"]) == ("ascending", COUNT - 1)
    assert rows[2]["minimum"] == rows[2]["maximum"] == 7
    assert validate(tmp_path) == []


def test_each_unique_call_has_numbers_and_index_tensors_their_contents(
    tmp_path: Path, chosen: torch.Tensor
) -> None:
    with kvtrace.capture(tmp_path, tensors="stats"):
        for grid in (4, 3, 4, 3):
            gather(torch.randn(COUNT), chosen, torch.zeros(COUNT), grid)
    assert {(row["seq"], row["call_id"]) for row in rows_of(tmp_path)} == {(0, 0), (1, 1)}
    contents = rows_of(tmp_path, "contents")
    assert {row["arg"] for row in contents} == {1}
    # of later launches, those for which there is time
    assert {0, 1} <= {row["seq"] for row in contents} <= {0, 1, 2, 3}


def test_kernels_without_integers_have_numbers(tmp_path: Path) -> None:
    whole = torch.randn(COUNT, 4)
    with kvtrace.capture(tmp_path, tensors="stats"):
        kernels.add[(4,)](whole[:, 1], whole[:, 2].half(), torch.zeros(COUNT), COUNT, BLOCK=256)
    (column, half, _) = rows_of(tmp_path)
    assert column["elements"] == column["sampled"] == COUNT
    assert column["maximum"] == whole[:, 1].max()
    assert half["maximum"] == whole[:, 2].half().max()


def test_a_large_tensor_has_numbers_of_a_sample(tmp_path: Path, chosen: torch.Tensor) -> None:
    source = torch.randn(1 << 20).view(1024, 1024)
    source[:, 512:] += 10
    with kvtrace.capture(tmp_path, tensors="stats"):
        gather(source, chosen, torch.zeros(COUNT))
    numbers = rows_of(tmp_path)[0]
    assert (numbers["elements"], numbers["sampled"]) == (1 << 20, 16384)
    assert numbers["mean"] == pytest.approx(5, abs=1)
    assert numbers["deviation"] == pytest.approx(26**0.5, abs=0.5)


def test_other_settings_record_no_numbers(tmp_path: Path, chosen: torch.Tensor) -> None:
    with kvtrace.capture(tmp_path, tensors="index"):
        gather(torch.randn(COUNT), chosen, torch.zeros(COUNT))
    assert rows_of(tmp_path) == []


def test_trials_of_an_autotuner_are_not_sampled(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path, tensors="stats") as session:
        with session.in_phase("autotune"):
            kernels.add[(4,)](*torch.ones(3, COUNT), COUNT, BLOCK=256)
        kernels.add[(4,)](*torch.ones(3, COUNT), COUNT, BLOCK=256)
    assert {row["seq"] for row in rows_of(tmp_path)} == {1}


def test_a_failure_to_sample_is_reported_and_harms_no_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: torch.Tensor
) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no sample today")

    monkeypatch.setattr(TensorSamples, "_take", failing)
    source, result = torch.randn(COUNT), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, tensors="stats"):
        gather(source, chosen, result)
    assert torch.equal(source, result)
    assert rows_of(tmp_path) == []
    assert any("no sample today" in row["text"] for row in rows_of(tmp_path, "messages"))


def test_numbers_of_a_call_are_those_of_its_first_launch_with_some(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path, tensors="stats"):
        kernels.add[(4,)](
            torch.ones(COUNT), torch.zeros(COUNT), torch.zeros(COUNT), COUNT, BLOCK=256
        )
    trace = open_trace(tmp_path)
    numbers = call_statistics(trace, trace.runs[0], 0)
    assert sorted(numbers) == [0, 1, 2]
    assert numbers[0].quantiles == (1.0,) * 17
    assert numbers[1].quantiles == ()
    assert call_statistics(trace, trace.runs[0], 5) == {}
