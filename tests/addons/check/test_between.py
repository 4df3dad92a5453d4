"""Kernels and copies between two launches of a run, with and without a digest."""

from pathlib import Path

import pytest

from kvtrace.addons.check.between import between, between_text
from kvtrace.schema.content import stack_row
from kvtrace.schema.layout import new_run_id
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

START = 1_800_000_000_000_000_000


def stack(line: int) -> dict[str, object]:
    """A launch from `ops.py:5`, which `model.py` calls at a line."""
    return stack_row([("ops.py", 5, 1, "add"), ("model.py", line, 1, "forward")])


def written(out: Path, others: list[tuple[str, str | None, int]] | None) -> Path:
    """Three launches, 10 us apart, and (name, kind, microsecond of the request) of other work."""
    run_id = new_run_id()
    writer = RunWriter(out, run_id)
    writer.append_rows("runs", [{"command": "python train.py", "mode": "timeline"}])
    names = ("norm", "dropout", "add")
    stacks = [stack(line) for line in (88, 90, 91)]
    writer.append_rows("stacks", stacks)
    writer.append_rows(
        "kernels", [{"kernel_id": number, "name": name} for number, name in enumerate(names)]
    )
    writer.append_rows(
        "calls",
        [
            {"call_id": number, "kernel_id": number, "stack_id": row["stack_id"]}
            for number, row in enumerate(stacks)
        ],
    )
    begins = [START + number * 10_000 for number in range(3)]
    writer.append_rows(
        "launches",
        [
            {"seq": number, "call_id": number, "enter": begin, "exit": begin + 2_000}
            for number, begin in enumerate(begins)
        ],
    )
    if others is not None:
        executions = [("norm", None, 0, 0), *((*other, None) for other in others)]
        writer.append_rows(
            "gpu_kernels",
            [
                {
                    "record": number,
                    "launch_seq": seq,
                    "name": name,
                    "kind": kind,
                    "start": START + 1_000_000 + number,
                    "end": START + 1_000_001 + number,
                    "requested": START + 1_000 * microsecond,
                }
                for number, (name, kind, microsecond, seq) in enumerate(executions)
            ],
        )
    writer.seal({"ended": START + 10_000_000, "ending": "exit"})
    return out


def told(before: Path, after: Path, first: int | None) -> str:
    sides = []
    for path in (before, after):
        trace = open_trace(path)
        sides.append(between(trace, trace.runs[0], first, 2))
    return between_text(*sides, "launch 1 of norm")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            [("gemm_64x64", None, 5)],
            [("gemm_128x64", None, 5), ("ours", None, 30)],
            "dropout without a digest and gemm_128x64; a library ran another kernel: "
            "gemm_128x64, before gemm_64x64",
        ),
        (
            [("early", None, 1), ("reduce", None, 5), ("", "copy", 7), ("reduce", None, 8)],
            [("reduce", None, 5), ("", "copy", 7), ("reduce", None, 8)],
            "dropout without a digest and reduce × 2, a copy of memory",
        ),
        (
            [("all_reduce", None, 12)],
            [],
            "dropout without a digest; only before all_reduce",
        ),
    ],
)
def test_what_ran_between_two_launches_is_named(tmp_path, old, new, sentence):
    text = told(written(tmp_path / "a", old), written(tmp_path / "b", new), 0)
    assert text == f"since launch 1 of norm, model.py:88 to 91, ran {sentence}"


def test_without_an_equal_launch_all_since_the_begin_of_the_run_counts(tmp_path):
    side = written(tmp_path / "a", [("early", None, 1)])
    trace = open_trace(side)
    whole = between(trace, trace.runs[0], None, 2)
    assert whole.launched == {"norm": 1, "dropout": 1}
    assert whole.others == {"early": 1}
