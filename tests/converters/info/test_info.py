"""`info`: what a trace holds, at a glance."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.converters.info.info import overview_object, read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.recompiles import Change
from kvtrace.figures import stored
from kvtrace.figures.requested_part import WHOLE
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.tables import scratch
from kvtrace.schema.layout import KEPT_TIMES
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import EPOCH, Kernel, Launches, Op, add_ops, write_trace
from tests.support.replacing import replace
from tests.support.synthetic_trace import build_synthetic_trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
SCALE = Kernel(calls=(Launches(number=5), Launches(number=2, phase="autotune", scalar="1")))


def overview_of(selection, **options):
    return read_overview(selection.trace, selection.runs, **options)


def test_run_counts_are_shown(tmp_path):
    side = write_trace(
        tmp_path, [SCALE, Kernel(name="softmax")], git_commit="a" * 40, mode="launch"
    )
    (run,) = overview_of(side).runs
    assert (run.kernels, run.calls, run.launches) == (2, 3, 8)
    assert run.phases == {"autotune": 2, "run": 6}
    assert run.sealed
    assert run.git_commit == "a" * 40
    assert run.passes == ()


def test_runs_are_counted_from_stored_sums_as_from_launches(tmp_path):
    for name in ("train", "device"):
        folder = shutil.copytree(FIXTURES / name, tmp_path / name)
        before = overview_of(resolve(folder))
        trace = open_trace(folder)
        add_up(trace, trace.select(), least_rows=0)
        assert all(sums_stored(trace, run) for run in trace.select())

        assert overview_of(resolve(folder)).runs == before.runs


def test_overview_of_a_window_takes_few_statements():
    selection = resolve(FIXTURES / "planted" / "good")
    with scratch() as database:
        database.execute("CALL enable_logging('QueryLog')")
        try:
            assert overview_of(selection).window.steps == 29
        finally:
            database.execute("CALL disable_logging()")
        logged = database.sql("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
        database.execute("CALL truncate_duckdb_logs()")
    # Each takes 0.5 to 20 ms; views of rows count, too. Catalogs of other tests may be detached.
    own = [message for (message,) in logged if not message.startswith("DETACH")]
    assert 30 < len(own) <= 59, own


@pytest.mark.parametrize("name", ["h100/slow_rank", "h200/llama_ranks"])
def test_first_screen_is_kept_until_a_file_of_the_runs_changes(tmp_path, monkeypatch, name):
    # given runs of which figures are kept
    monkeypatch.setattr(stored, "_LEAST_BYTES", 0)
    folder = shutil.copytree(FIXTURES.parent / name, tmp_path / "out")
    first = overview_of(resolve(folder))
    with monkeypatch.context() as patch:
        patch.delattr("kvtrace.converters.info.kernel_overviews.open_figures")  # not read again
        assert overview_of(resolve(folder)) == first
        with pytest.raises(NameError):
            overview_of(resolve(folder), part=WHOLE)
    # when a file is written again, of the same size
    part = next(folder.glob("marks/*/*.parquet"))
    os.utime(part, ns=(0, 0))
    # then what follows from it is read again
    with monkeypatch.context() as patch:
        patch.setattr("kvtrace.figures.part_figures.read_ranks", lambda *_: None)
        assert overview_of(resolve(folder)) == replace(first, ranks=None)


def test_kept_screen_of_another_shape_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_LEAST_BYTES", 0)
    folder = shutil.copytree(FIXTURES / "train", tmp_path / "out")
    first = overview_of(resolve(folder))
    (kept,) = (folder / KEPT_TIMES).glob("info-*")
    table = pq.read_table(kept)
    pq.write_table(table.set_column(0, table.schema.field(0), pa.array([b"\x80"])), kept)
    assert overview_of(resolve(folder)) == first


def test_kernels_by_launches_with_host_time(tmp_path):
    side = write_trace(tmp_path, [Kernel(name="softmax"), SCALE, replace(SCALE, block=64)])
    kernels = overview_of(side).kernels
    found = [(k.name, k.variants, k.calls, k.launches, k.host_ns, k.compiling_ns) for k in kernels]
    assert found == [
        ("scale", 2, 4, 10, 100_000, None),
        ("softmax", 1, 1, 1, None, 10_000),
    ]


@pytest.mark.parametrize(
    ("blocks", "scalars", "counted"),
    [
        (([128], [64]), (["1"], ["1"]), (2, 2)),  # each process compiled another variant
        (([128], [128]), (["1", "2"], ["2", "3", "4"]), (1, 4)),
        (([128, 64], [64, 128]), (["1", "2"], ["1", "2"]), (2, 4)),  # ranks, in another order
        (([128, 128], [128]), (["1"], ["1"]), (2, 2)),  # one process compiled it twice
    ],
)
def test_variants_and_calls_of_several_processes_are_their_union(
    tmp_path, blocks, scalars, counted
):
    for run, (of_run, of_calls) in enumerate(zip(blocks, scalars, strict=True)):
        calls = tuple(Launches(scalar=scalar) for scalar in of_calls)
        kernels = [Kernel(block=block, calls=calls) for block in of_run]
        write_trace(tmp_path, kernels, run_id=f"20260102T03040{run}-0001")
    trace = open_trace(tmp_path)

    (kernel,) = read_overview(trace, trace.runs).kernels

    launches = sum(len(b) * len(c) for b, c in zip(blocks, scalars, strict=True))
    assert (kernel.variants, kernel.calls, kernel.launches) == (*counted, launches)


def test_a_run_without_an_end_says_so_and_until_when_it_is_known(tmp_path):
    side = write_trace(tmp_path, [SCALE], seal=False)
    overview = overview_of(side)
    assert not overview.runs[0].sealed
    assert overview.runs[0].last_launch == EPOCH + 610_000
    text = " ".join(" ".join(overview_text(overview)).split())
    assert "not sealed: still running or killed" in text
    assert "kvtrace trace recover seals" in text


@pytest.mark.parametrize("number", [0, 2])
def test_a_run_that_was_killed_before_its_launches_were_written_can_be_judged(tmp_path, number):
    kernel = Kernel(calls=(Launches(number=number),))
    text = " ".join(
        " ".join(overview_text(overview_of(write_trace(tmp_path, [kernel], seal=False)))).split()
    )
    assert "none yet (kvtrace profile, kvtrace sanitize)" in text
    unwritten = "launches not written yet, of 1 unique call (kvtrace trace recover brings them)"
    assert (unwritten in text) == (number == 0)
    assert ("launches 2 launches of 1 unique call" in text) == (number == 2)


def test_a_run_without_a_call_has_nothing_to_evaluate(tmp_path):
    text = " ".join(overview_text(overview_of(write_trace(tmp_path, [Kernel(calls=())]))))
    assert "none: there is no launch to evaluate" in " ".join(text.split())


@pytest.mark.parametrize(("executions", "is_said"), [(1, False), (0, True)])
def test_a_run_of_libraries_alone_is_not_said_to_have_no_kernel(tmp_path, executions, is_said):
    writer = RunWriter(tmp_path, run := "20260102T030405-0001")
    times = {"requested": EPOCH, "start": EPOCH + 5, "end": EPOCH + 9}
    writer.append_rows("gpu_kernels", [times | {"record": 0, "name": "gemm"}] * executions)
    writer.seal({"run_id": run, "started": EPOCH, "ended": EPOCH + 100})
    trace = open_trace(tmp_path)
    text = "\n".join(overview_text(read_overview(trace, trace.runs)))
    assert ("no kernel was recorded" in text) == is_said


def test_lost_rows_and_overhead_are_shown(tmp_path):
    side = write_trace(tmp_path, [SCALE], dropped_rows=12, self_overhead_ns=5_000_000)
    text = "\n".join(overview_text(overview_of(side)))
    assert "12 rows could not be kept" in text
    assert "overhead  5 ms (measured), 0.50 % of the run" in text


PARTS = {
    "start_ns": 250_000_000, "launches_ns": 10_000_000, "waits_ns": 6_000_000,
    "profiler_ns": 32_000_000, "end_ns": 40_000_000, "running_ns": 848_000_000,
    "thread_ns": 90_000_000,
}  # fmt: skip


def test_overhead_of_recording_is_shown_by_part(tmp_path):
    side = write_trace(tmp_path, [SCALE], overhead=PARTS, self_overhead_ns=338_000_000)
    text = "\n".join(overview_text(overview_of(side)))
    words = " ".join(text.split())
    assert "about +6.0 % of its time: launches 1.2, waits 0.8, CUPTI 4.0; 250 ms until" in words
    assert "all kernels were compiled, 40.0 ms at exit" in words
    form = overview_object(overview_of(side))["runs"][0]
    assert form["overhead"] == PARTS
    assert form["overhead_percent"]["total"] == pytest.approx(6)


def test_overhead_of_a_run_that_compiled_to_its_end_is_no_share(tmp_path):
    overhead = {**PARTS, "running_ns": 0}
    side = write_trace(tmp_path, [SCALE], overhead=overhead, self_overhead_ns=338_000_000)
    text = " ".join(" ".join(overview_text(overview_of(side))).split())
    assert "overhead 338 ms (measured), start-up included: too short after the last" in text
    assert "% of the run" not in text


def test_profiler_with_unknown_cost_is_left_out_of_the_overhead(tmp_path):
    side = write_trace(tmp_path, [SCALE], overhead={**PARTS, "profiler_ns": None})
    text = "\n".join(overview_text(overview_of(side)))
    assert "about +1.9 % of its time: launches 1.2, waits 0.7, CUPTI ?" in text


def test_passes_that_analyzed_a_run_are_listed(tmp_path):
    side = write_trace(tmp_path, [SCALE])
    add_ops(side, [Op(0, 1, "load", 12, {"bytes": 4})])
    assert overview_of(side).runs[0].passes == ("replay",)


def test_warnings_come_first_and_equal_ones_of_ranks_are_merged(tmp_path):
    build_synthetic_trace(tmp_path, runs=2, launches=10)
    lines = overview_text(overview_of(resolve(str(tmp_path))))
    assert lines[1].startswith("warning: One launch bypassed Python")
    assert "(6 times) [2 of 2" in lines[1]


def test_unselected_runs_are_counted(tmp_path, capsys):
    write_trace(tmp_path, [SCALE], run_id="20260101T000000-1")
    write_trace(tmp_path, [SCALE], run_id="20260102T000000-2")
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "1 more run in this directory" in out
    assert "20260101T000000-1" not in out
    assert main(["info", str(tmp_path), "--all"]) == 0
    assert "20260101T000000-1" in capsys.readouterr().out
    assert main(["info", str(tmp_path), "--run", "20260101"]) == 0
    assert "run 20260101T000000-1" in capsys.readouterr().out


def test_recompiles_have_the_changes_from_the_nearest_variant(tmp_path):
    variants = [SCALE, replace(SCALE, block=64), replace(SCALE, block=64, num_warps=8)]
    side = write_trace(tmp_path, [*variants, Kernel(name="softmax")])
    overview = overview_of(side, recompiles=True)
    assert [(r.kernel, r.first, r.changes) for r in overview.recompiles] == [
        ("scale", True, ()),
        ("scale", False, (Change("constexpr BLOCK", "128", "64"),)),
        ("scale", False, (Change("num_warps", "4", "8"),)),
        ("softmax", True, ()),
    ]
    text = overview_text(overview)
    assert "    constexpr BLOCK 128 → 64 (took 2 ms)" in text
    assert not any("softmax" in line for line in text[text.index("") + 20 :])
    # and where it is known what loading cost, that too
    loaded = replace(overview.recompiles[1], load_ns=300_000)
    text = overview_text(replace(overview, recompiles=(overview.recompiles[0], loaded)))
    assert "    constexpr BLOCK 128 → 64 (took 2 ms, 300 µs to load)" in text


def test_a_variant_without_facts_of_its_compilation_is_not_said_to_be_loaded(tmp_path):
    side = write_trace(tmp_path, [SCALE, replace(SCALE, block=64)])
    overview = read_overview(side.trace, side.runs, recompiles=True)
    first, second = overview.recompiles
    unrecorded = replace(second, compile_ns=None, cache_hit=None, is_recorded=False)
    overview = replace(overview, recompiles=(first, unrecorded))
    text = " ".join(" ".join(overview_text(overview)).split())
    assert "(whether it was compiled was not recorded)" in text
    assert "of 1 further variant it was not recorded whether they were compiled" in text
    assert "from the cache" not in text


def test_repeated_load_of_a_variant_is_not_a_recompile():
    """Its process did not compile it: Inductor's cache had it, or a worker made it."""
    trace = open_trace(FIXTURES / "llama_liger_cached")
    overview = read_overview(trace, trace.runs, recompiles=True)
    later = [one for one in overview.recompiles if not one.first]
    again = [one for one in later if one.recompiled]
    assert (len(overview.recompiles), len(later)) == (97, 33)
    assert all(one.compile_ns and not one.cache_hit for one in again)
    text = " ".join(" ".join(overview_text(overview)).split())
    loaded = sum(not one.changes and one.same_code for one in later)
    told = f"{loaded} variants more: same IR, loaded from the cache (not a recompile)"
    assert told in text
    assert "no kernel was compiled more than once" in text
    assert again == []


def test_json_output_has_every_field(tmp_path, capsys):
    side = write_trace(tmp_path, [SCALE], versions={"triton": "3.6.0"})
    assert main(["info", str(tmp_path), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    of_command = {"schema": "info", "version": 1}
    assert form == of_command | json.loads(json.dumps(overview_object(overview_of(side))))
    assert form["runs"][0]["versions"] == {"triton": "3.6.0"}
    assert form["runs"][0]["launches"] == 7


@pytest.mark.parametrize("options", [(), ("--all",), ("--recompiles",)])
def test_text_fits_80_columns(tmp_path, capsys, monkeypatch, options):
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "t"
    build_synthetic_trace(out, runs=1, launches=20)
    monkeypatch.chdir(tmp_path)
    assert main(["info", "t", *options]) == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


def test_gpu_program_is_shown_by_device_time_with_notes_and_workers_folded():
    trace = open_trace(FIXTURES / "llama")
    overview = read_overview(trace, trace.runs)

    lines = overview_text(overview, width=100)
    text = " ".join(" ".join(lines).split())
    top = overview.device_time.rows[:5]
    assert len(lines) <= 65
    assert lines[1] == "7 notes on the recording (--all shows them)"
    assert "1 more process launched no kernels" in text
    assert all(any(line.startswith(row.name[:15]) for line in lines) for row in top)
    times = [kernel.device_ns for kernel in overview.kernels]
    assert times == sorted(times, reverse=True)
    everything = "\n".join(overview_text(overview, full=True, width=100))
    assert "note: launches are recorded by the native hot path" in everything
    assert everything.count("run 2026") == 2
