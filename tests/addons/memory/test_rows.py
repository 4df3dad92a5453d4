"""Sentences of findings: each launch has its own stores, and each cause its own row."""

from pathlib import Path

import pytest

pytest.importorskip("triton")

from kvtrace.addons.memory.judged import findings_of
from kvtrace.addons.memory.rules import READ, RESULT
from kvtrace.converters.findings.causes import cause_of
from kvtrace.converters.findings.model import Finding, StackFrame
from kvtrace.schema.trace import open_trace
from tests.addons.memory import launches_apart
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = Path(launches_apart.__file__)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables of findings and stacks of the program."""
    folder = tmp_path_factory.mktemp("rows")
    run_with(
        INSTALLED, [str(PROGRAM)], folder / "cache", fresh=True, KVTRACE=str(folder / "out"),
        KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu", KVTRACE_TENSORS="int",
    )  # fmt: skip
    trace = open_trace(folder / "out")
    (run,) = trace.runs
    return {name: t.to_pylist() for name, t in findings_of(trace, run, named=False).items()}


@pytest.fixture(scope="module")
def rows(tables):
    """The violations of the program, by the line that made the memory."""
    frames = {row["stack_id"]: row["frames"] for row in tables["stacks"]}
    lines = PROGRAM.read_text().splitlines()
    return {
        lines[frames[row["other_stack_id"]][0]["line"] - 1].split("# ")[1]: row["message"]
        for row in tables["findings"]
        if row["rule"] == READ and row["verdict"] == "violation"
    }


@pytest.mark.process
def test_a_kernel_that_drops_what_nobody_wrote_is_proven(tables):
    uses = [row for row in tables["findings"] if row["message"].startswith("all that it uses of x")]
    assert [row["verdict"] for row in uses] == ["proven"]


@pytest.mark.process
def test_each_cause_has_a_row_with_the_stores_of_its_launch(rows):
    assert set(rows) == {
        "scattered", "interleaved", "summed by an operator", "mirrored", "in halves",
        "by an operator", "by nobody", "with gaps", "before a view", "as the second of two",
        "as the second of two types", "stored as the second of two", "half of each",
        "of which bits count",
    }  # fmt: skip
    assert "scattered_to stored elements 0 to 96, 98 to 99 of it" in rows["scattered"]


@pytest.mark.process
def test_what_wrote_the_rest_is_named_in_elements_that_are_read(rows):
    assert rows["mirrored"].endswith(
        " made it, mirrored stored elements 0 to 62 of it; its mask admits no lane for the others"
    )
    assert "elements 32 to 99 of x are read" in rows["in halves"]
    assert "copied stored elements 0 to 63 of it, counted as i16" in rows["in halves"]
    assert ") wrote elements 0 to 98 of it" in rows["by an operator"]
    assert ", torch.copy_ (first called at " in rows["by an operator"]
    assert rows["by nobody"].endswith(", and nothing wrote to it")


@pytest.mark.process
def test_of_two_tensors_in_one_storage_that_is_named_which_the_access_uses(rows, tables):
    assert rows["as the second of two"].startswith("elements 20 to 31 of k are read")
    assert rows["as the second of two types"].startswith("elements 0 to 63 of k are read")
    assert " reads elements 24 to 31 of k, and" in rows["stored as the second of two"]
    named = [row["arg"] for row in tables["findings"] if " of k are read" in row["message"]]
    assert named == ["k", "k"]


@pytest.mark.process
def test_bytes_of_elements_are_named_where_others_were_written(rows):
    assert rows["half of each"].startswith("bytes 4 to 7 of elements 0 to 99 of x are read")
    assert rows["half of each"].endswith(" wrote bytes 0 to 3 of elements 0 to 99 of it")
    assert rows["of which bits count"].startswith(
        "elements 30 to 31 of index are read, and nobody wrote them"
    )


@pytest.mark.process
def test_the_store_at_fault_is_named(rows):
    line = 1 + next(
        n for n, text in enumerate(PROGRAM.read_text().splitlines()) if "2 * lanes + 1" in text
    )
    assert "interleaved_to stored elements 0 to 98 of it" in rows["interleaved"]
    assert f"line {line}'s mask admits no lane" in rows["interleaved"]


@pytest.mark.process
def test_what_no_address_of_a_store_reaches_lies_behind_or_between_them(rows):
    gaps = "no program and trip has their addresses: a tile, stride or step leaves gaps"
    assert rows["with gaps"].endswith(f"spread_to stored elements 0, 2, 4, … of it; {gaps}")
    behind = "no program and trip has their addresses: its grid or a loop is too small"
    stored = "copied stored elements 0 to 63 of the whole storage"
    assert rows["before a view"].endswith(f"{stored}; {behind}")


@pytest.mark.process
def test_what_was_read_before_the_last_write_is_no_unread_result(tables):
    assert [row for row in tables["findings"] if row["rule"] == RESULT] == []


@pytest.mark.process
def test_an_operator_is_named_with_its_own_line_and_what_it_reads(rows):
    line = 1 + PROGRAM.read_text().splitlines().index("    half.sum()")
    called = f"torch.sum (first called at launches_apart.py:{line})"
    assert rows["summed by an operator"].startswith(called)
    assert "reads elements 32 to 63 of what torch.empty at" in rows["summed by an operator"]


def test_lines_that_made_memory_are_causes_of_their_own():
    places = [(StackFrame("model.py", line, 1, "forward"),) for line in (3, 3, 8)]
    first, same, other = (
        cause_of(
            Finding(
                "a", READ, "violation", "warning", "read", "model.py", 20, method="followed",
                other_stack=place,
            )
        )
        for place in places
    )  # fmt: skip
    assert first == same != other
