"""Counts of each op in a replay, against arithmetic done by hand."""

import shutil

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.clients import replay


@pytest.fixture(scope="module")
def ops(recorded):
    """Rows of `ops` by kernel name, call by call."""
    assert main(["replay", str(recorded)]) == 0
    from kvtrace.schema.trace import open_trace

    trace = open_trace(recorded)
    kernels = {
        row["kernel_id"]: row["name"]
        for row in trace.table("kernels", columns=["kernel_id", "name"]).to_pylist()
    }
    names = {
        row["call_id"]: kernels[row["kernel_id"]]
        for row in trace.table("calls", columns=["call_id", "kernel_id"]).to_pylist()
    }
    by_kernel = {}
    for row in trace.table("ops").to_pylist():
        by_kernel.setdefault(names[row["call_id"]], {}).setdefault(row["call_id"], []).append(row)
    return {name: list(calls.values()) for name, calls in by_kernel.items()}


def kind(rows, name):
    return [row for row in rows if row["kind"] == name]


def test_a_masked_copy_has_its_masked_lanes_and_bytes_counted(ops):
    first, second = ops["copy"]
    for rows, programs, size, block in ((first, 4, 1000, 256), (second, 2, 200, 128)):
        (load,), (store,) = kind(rows, "load"), kind(rows, "store")
        for row in (load, store):
            assert row["executions"] == programs
            assert row["elements"] == programs * block
            assert row["masked_off"] == programs * block - size
            assert row["bytes"] == 4 * size
        assert (load["buffer"], store["buffer"]) == ("source", "result")


def test_loops_count_their_trips(ops, recorded):
    from kvtrace.schema.trace import open_trace

    (rows,) = ops["row_sums"]
    (load,) = kind(rows, "load")
    assert load["executions"] == 6 * 4
    assert load["bytes"] == 6 * 100 * 4
    (loop,) = open_trace(recorded).table("loops").to_pylist()
    assert load["loop"] == loop["op_index"]
    assert (loop["trips_min"], loop["trips_median"], loop["trips_max"]) == (4, 4, 4)


def test_flops_are_counted_as_documented(ops):
    (rows,) = ops["row_sums"]
    assert sum(row["flops"] or 0 for row in rows) == 6 * 4 * 32 + 6 * 31


def test_a_mask_that_is_known_is_counted_even_where_the_address_is_not(ops):
    (rows,) = ops["gather"]
    gathered = kind(rows, "load")[1]
    assert gathered["masked_off"] == 24
    assert gathered["bytes"] == 4000


def test_progress_counts_every_call(trace):
    (run,) = trace.runs
    seen = []
    outcome = replay(trace, run, lambda done, total: seen.append((done, total)))
    assert outcome.failures == ()
    amounts, totals = zip(*seen, strict=True)  # estimated costs
    assert len(seen) == 7
    assert set(totals) == {totals[0]}
    assert list(amounts) == sorted(set(amounts))
    assert amounts[-1] == pytest.approx(totals[0])


@pytest.fixture(scope="module")
def without_a_kernel(recorded, tmp_path_factory):
    """The trace, where the record of `copy` has failed; its calls are there."""
    folder = shutil.copytree(recorded, tmp_path_factory.mktemp("lost") / "out")
    (part,) = (folder / "kernels").rglob("*.parquet")
    rows = pq.read_table(part, partitioning=None)
    remaining = rows.filter(pc.not_equal(rows.column("name"), "copy"))
    pq.write_table(remaining.replace_schema_metadata(rows.schema.metadata), part)
    return folder


def test_a_call_without_its_kernel_is_reported_and_the_others_are_replayed(without_a_kernel):
    from kvtrace.schema.trace import open_trace

    trace = open_trace(without_a_kernel)
    outcome = replay(trace, trace.runs[0])

    assert len(outcome.failures) == 2
    assert all("the trace has no record of the kernel" in each for each in outcome.failures)
    assert {row["kind"] for row in trace.table("ops").to_pylist()} >= {"load", "store"}


def test_sanitize_judges_the_calls_whose_kernels_are_there(without_a_kernel, capsys):
    code = main(["sanitize", str(without_a_kernel)])
    output = capsys.readouterr()

    assert code in (0, 1)
    assert "the trace has no record of the kernel" in output.out + output.err
