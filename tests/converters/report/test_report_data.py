"""The report as data: every figure equals SQL over the Parquet files."""

import duckdb
import pytest

from kvtrace.converters.report import report_data
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.finding_rows import INLINED, LOAD, PROVEN, VIOLATION
from tests.converters.written_trace import Kernel, add_findings, write_trace
from tests.support.foreign_producer import write_foreign
from tests.support.replacing import replace
from tests.support.report_trace import HOSTILE_NAME, build_report_trace, report_of
from tests.support.synthetic_trace import build_synthetic_trace


def sql(path, query):
    """Rows of a query in which {name} is a table's Parquet files."""
    tables = ("launches", "calls", "kernels", "ops", "findings", "gpu_kernels", "artifacts")
    files = {name: f"'{path}/{name}/*/*.parquet'" for name in tables}
    return duckdb.sql(query.format(**files)).fetchall()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build_report_trace(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def report(built):
    return report_of(built.path)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Two ranks with device executions and hostile names, and their report."""
    made = build_synthetic_trace(tmp_path_factory.mktemp("ranks"), kernels=10)
    return made, report_of(made.path)


def test_totals_equal_sql(built, report):
    ((launches, host),) = sql(
        built.path,
        'SELECT count(*), sum(epoch_ns("exit") - epoch_ns(enter)) '
        "FILTER (phase NOT IN ('autotune', 'warmup')) FROM {launches}",
    )
    ((moved, flops, calls),) = sql(
        built.path,
        "SELECT sum(o.bytes), sum(o.flops), count(DISTINCT l.call_id) FROM {launches} l "
        "JOIN {ops} o USING (call_id) WHERE l.phase = 'run'",
    )
    ((compiled,),) = sql(built.path, "SELECT sum(compile_ns) FROM {kernels}")
    totals = report.totals
    assert (totals.launches, totals.host_ns) == (launches, host)
    assert (totals.bytes, totals.flops, totals.evaluated_calls) == (moved, flops, calls)
    assert totals.compile_ns == compiled
    assert totals.phases == dict(
        sql(built.path, "SELECT phase, count(*) FROM {launches} GROUP BY phase")
    )


def test_each_kernel_equals_sql(built, report):
    rows = sql(
        built.path,
        "SELECT k.name, count(*) FILTER (phase NOT IN ('autotune', 'warmup')), "
        "coalesce(sum(epoch_ns(\"exit\") - epoch_ns(enter)) "
        "FILTER (phase NOT IN ('autotune', 'warmup')), 0), "
        "count(DISTINCT call_id), count(DISTINCT kernel_id) "
        "FROM {launches} l JOIN {calls} c USING (call_id) JOIN {kernels} k USING (kernel_id) "
        "GROUP BY k.name",
    )  # fmt: skip
    found = {(k.name, k.launches, k.host_ns, k.calls, len(k.variants)) for k in report.kernels}
    assert found == set(rows)


def test_each_call_equals_sql(built, report):
    rows = sql(
        built.path,
        "SELECT call_id, count(*) FILTER (phase NOT IN ('autotune', 'warmup')), "
        'coalesce(sum(epoch_ns("exit") - epoch_ns(enter)) '
        "FILTER (phase NOT IN ('autotune', 'warmup')), 0) FROM {launches} GROUP BY call_id",
    )
    assert {(c.call_id, c.launches, c.host_ns) for c in report.calls} == set(rows)


def test_the_timeline_has_every_launch_at_its_time(built, report):
    rows = sql(
        built.path,
        'SELECT seq, epoch_ns(enter), epoch_ns("exit") - epoch_ns(enter), thread '
        "FROM {launches} ORDER BY enter, seq",
    )
    ((first,),) = sql(built.path, "SELECT min(epoch_ns(compile_begin)) FROM {kernels}")
    launches = report.launches
    threads = [report.tracks[track].thread for track in launches.track]
    assert launches.seq.tolist() == [row[0] for row in rows]
    assert (launches.begin + first).tolist() == [row[1] for row in rows]
    assert launches.duration.tolist() == [row[2] for row in rows]
    assert threads == [row[3] for row in rows]


def test_ranks_are_listed_separately_and_their_kernels_are_merged(ranks):
    made, report = ranks
    assert [run.label for run in report.runs] == ["rank 0", "rank 1"]
    assert report.totals.launches == made.launches == len(report.launches)
    assert len(report.kernels) == 10
    assert all(len(kernel.variants) == 2 for kernel in report.kernels)
    assert {(t.run, t.thread) for t in report.tracks if t.kind == "host"} == {
        (0, 4242), (0, 4243), (1, 4242), (1, 4243)
    }  # fmt: skip


def test_device_time_equals_sql(ranks):
    made, report = ranks
    ((executions, total),) = sql(
        made.path,
        "SELECT count(*), sum(epoch_ns(\"end\") - epoch_ns(start)) FILTER (coalesce(phase, 'run') "
        "NOT IN ('autotune', 'warmup')) FROM {gpu_kernels} g "
        "LEFT JOIN {launches} l ON l.run = g.run AND l.seq = g.launch_seq",
    )
    assert (report.totals.gpu_kernels, report.totals.device_ns) == (executions, total)
    ((of_calls,),) = sql(
        made.path,
        'SELECT sum(epoch_ns("end") - epoch_ns(start)) FROM {gpu_kernels} g '
        "LEFT JOIN {launches} l ON l.run = g.run AND l.seq = g.launch_seq "
        "WHERE g.call_id IS NOT NULL AND coalesce(phase, 'run') NOT IN ('autotune', 'warmup')",
    )
    assert sum(kernel.device_ns or 0 for kernel in report.kernels) == of_calls
    ((others,),) = sql(
        made.path,
        "SELECT count(*) FROM {gpu_kernels} g LEFT JOIN {launches} l ON l.run = g.run AND "
        "l.seq = g.launch_seq WHERE coalesce(g.call_id, l.call_id) IS NULL AND g.kind IS NULL",
    )
    assert report.others.split(" of ")[0] == (f"{others:,} executions" if others else "")


def test_a_finding_in_several_calls_is_one_entry_and_all_accesses_are_counted(built, report):
    violation, unknown = (placed.found for placed in report.findings)
    assert (violation.finding_id, violation.calls, violation.verdict) == ("oob-1", 3, "violation")
    assert (violation.program, violation.lane, violation.past_end_bytes) == ((3, 0, 0), (232,), 96)
    assert unknown.reason == "the address depends on data that was not recorded"
    assert [placed.op for placed in report.findings] == [11, 12]
    ids = [[report.calls[call].call_id for call in f.in_calls] for f in report.findings]
    assert ids == [[0, 1, 2], [8]]
    counted = {(c.verdict, c.count) for c in report.finding_counts or ()}
    assert counted == set(
        sql(built.path, "SELECT verdict, count(*) FROM {findings} GROUP BY verdict")
    )
    assert report.totals.violations == 3


def test_unanalyzed_kernel_is_not_reported_as_clean(report):
    judged = {kernel.name: kernel.judged for kernel in report.kernels}
    assert judged == {"softmax": 9, "accumulate": 1, HOSTILE_NAME: 0}


def test_missing_derived_tables_give_none_and_not_zero(tmp_path):
    built = build_report_trace(tmp_path, launches=10, derived=False, stages=("ttir",))
    report = report_of(built.path)
    assert report.totals.bytes is None
    assert report.totals.flops is None
    assert report.totals.violations is None
    assert report.finding_counts is None
    assert all(kernel.violations is None and kernel.bytes is None for kernel in report.kernels)
    assert all(call.bytes is None for call in report.calls)


def test_a_run_that_was_killed_before_its_first_launch_is_shown(tmp_path):
    writer = RunWriter(tmp_path / "out", "20260102T030405-killed")
    writer.flush()
    report = report_of(tmp_path / "out")
    (run,) = report.runs
    assert (run.sealed, run.duration_ns, run.ending) == (False, None, None)
    assert (report.totals.launches, report.kernels, report.tracks) == (0, (), ())
    assert (report.origin, report.span_ns) == (None, 0)


def test_rows_that_lack_all_but_their_keys_are_counted(tmp_path):
    writer = RunWriter(tmp_path / "out", "20260102T030405-sparse")
    writer.append_rows("kernels", [{"kernel_id": 5}])
    writer.append_rows("calls", [{"call_id": 7, "kernel_id": 5}, {"call_id": 8}])
    writer.append_rows("launches", [{"seq": n, "call_id": c} for n, c in enumerate((7, 8, 9))])
    writer.append_rows("gpu_kernels", [{"record": 0}])
    writer.append_rows("marks", [{"mark_id": 0}])
    writer.append_rows("findings", [])
    writer.seal({})
    report = report_of(tmp_path / "out")
    assert report.totals.launches == 3
    assert (report.totals.host_ns, report.totals.device_ns) == (0, 0)
    assert [kernel.launches for kernel in report.kernels] == [1]
    assert report.totals.phases == {"not recorded": 3}


def test_pass_without_findings_counts_as_run(tmp_path):
    built = build_report_trace(tmp_path, launches=10, derived=False, stages=("ttir",))
    trace = open_trace(built.path)
    empty = trace.table("findings").drop_columns(["run"])
    trace.add_derived(built.run_id, "sanitize", {"findings": empty})
    report = report_of(built.path)
    assert report.finding_counts == ()
    assert report.totals.violations == 0


def test_a_variant_has_its_stages_sources_and_parameters(built, report):
    variant = report.variants[0]
    assert [stage.stage for stage in variant.stages] == ["ttir", "ttgir", "llir", "ptx"]
    assert all(stage.text is not None and stage.size_bytes for stage in variant.stages)
    assert [file.path for file in variant.files] == [str(built.source)]
    assert [p["name"] for p in variant.signature][-1] == "BLOCK"


def test_only_the_function_s_own_source_is_shown_from_its_line(tmp_path):
    built = build_report_trace(tmp_path, launches=10, stages=("ttir",), files=False)
    variant = report_of(built.path).variants[0]
    (file,) = variant.files
    assert (file.path, file.first_line) == (str(built.source), 13)


def test_arguments_keep_shape_strides_storage_and_alias_group(report):
    call = next(call for call in report.calls if call.call_id == 1)
    result, source, stride, _ = (report.arguments[index] for index in call.args)
    assert (result.shape, result.strides, result.storage_bytes) == ((5, 1000), (1000, 1), 20_000)
    assert source.alias_group == result.alias_group == 0
    assert stride.scalar == "1000"


def test_suppressed_findings_and_both_sides_of_a_race_are_on_the_page(tmp_path):

    from tests.converters.finding_rows import KERNEL, LOAD, RACE, STORE, VIOLATION
    from tests.converters.written_trace import SOURCE, add_findings, write_trace

    marked = SOURCE.replace("offsets < n)\n", "offsets < n)  # kvtrace: ignore[race] lock\n", 1)
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=marked)])
    add_findings(side, [VIOLATION, RACE], [LOAD, STORE])
    report = report_of(tmp_path / "t")
    violation, race = report.findings
    assert not violation.found.suppressed
    assert (race.found.suppressed, race.found.suppress_reason) == (True, "lock")
    assert [line for _, line, _ in report.stacks[race.other_stack]] == [13]
    assert (race.kernel, race.variant, race.call) == (0, 0, 0)
    assert report.totals.violations == 1
    assert {(c.rule, c.verdict, c.count) for c in report.finding_counts} == {
        ("out-of-bounds", "violation", 1),
        ("race", "suppressed", 1),
    }
    assert [kernel.violations for kernel in report.kernels] == [1]


def test_report_of_a_journal_equals_that_of_the_sealed_run(tmp_path):
    rows = [
        {"seq": n, "call_id": n % 3, "enter": 100 * n, "exit": 100 * n + 7 * n, "thread": 1,
         "phase": "run" if n % 5 else None}
        for n in range(50)
    ]  # fmt: skip
    reports = []
    for name in ("journal", "sealed"):
        writer = RunWriter(tmp_path / name, "20260102T030405-both")
        writer.append_rows("kernels", [{"kernel_id": 5, "name": "k"}])
        writer.append_rows("calls", [{"call_id": n, "kernel_id": 5} for n in range(2)])
        writer.append_rows("launches", rows)
        writer.flush()
        if name == "sealed":
            writer.seal({})
        reports.append(report_of(tmp_path / name))
    journal, sealed = reports
    for column in ("begin", "duration", "kernel", "call", "track", "phase", "seq"):
        found = [getattr(each.launches, column).tolist() for each in (journal, sealed)]
        assert found[0] == found[1]
    assert journal.calls == sealed.calls
    assert journal.totals == sealed.totals
    assert sealed.launches.call.tolist()[:4] == [0, 1, -1, 0]


def test_damaged_part_file_is_reported_by_name(tmp_path):
    built = build_report_trace(tmp_path, launches=5000, derived=False, stages=("ttir",))
    (part,) = (built.path / "launches").glob("*/*.parquet")
    content = bytearray(part.read_bytes())
    content[200:2000] = bytes(1800)
    part.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"launches.*is damaged"):
        report_of(built.path)


def test_an_execution_takes_its_call_and_phase_from_its_launch(tmp_path):
    writer = RunWriter(tmp_path / "out", "20260102T030405-device")
    writer.append_rows("kernels", [{"kernel_id": 5, "name": "k"}])
    writer.append_rows("calls", [{"call_id": 7, "kernel_id": 5}])
    writer.append_rows(
        "launches",
        [{"seq": 0, "call_id": 7, "enter": 0, "exit": 9, "phase": "autotune"},
         {"seq": 1, "call_id": 7, "enter": 10, "exit": 19, "phase": "run"}],
    )  # fmt: skip
    executions = [(0, 0, None, 50), (1, 1, None, 20), (2, None, 7, 30), (3, None, None, 90)]
    writer.append_rows(
        "gpu_kernels",
        [{"record": record, "launch_seq": launch, "call_id": call, "start": 100 * record,
          "end": 100 * record + took, "name": (*"kk", "nccl", None)[record]}
         for record, launch, call, took in executions],
    )  # fmt: skip
    writer.seal({})
    report = report_of(tmp_path / "out")
    assert report.device.call.tolist() == [0, 0, 0, -1]
    assert report.device.launch.tolist() == [0, 1, -1, -1]
    shown = [report.device_names[name] for name in report.device.name]
    assert shown == ["k", "k", "nccl", ""]
    names = [report.phases[phase] if phase >= 0 else None for phase in report.device.phase]
    assert names == ["autotune", "run", None, None]
    (call,) = report.calls
    assert (call.launches, call.tuning_launches, call.runs) == (1, 1, 1)
    assert (call.device_executions, call.device_ns, call.device_median_ns) == (2, 50, 25.0)
    assert report.totals.device_ns == 140


def test_variant_lists_the_changes_that_recompiled_it(report):
    first, second, other, _ = report.variants
    assert first.recompiled is None
    assert second.recompiled.nearest == 0
    assert [str(change) for change in second.recompiled.changes] == ["constexpr BLOCK 256 → 512"]
    assert (first.reason, second.reason) == ("its first variant", "constexpr BLOCK 256 → 512")
    assert second.recompiled.again
    assert report.recompiles == "1 kernel compiled again, 1 time"
    assert other.recompiled is None
    assert second.compile_begin - first.compile_begin == 40_000_000


def test_a_variant_s_occupancy_follows_from_its_resources(report):
    occupancy = report.variants[0].occupancy
    assert (occupancy.warps, occupancy.of, occupancy.limited_by) == (64, 64, "warps")
    assert report.variants[3].occupancy is None


def test_median_of_sampled_launches_is_weighted(tmp_path):
    writer = RunWriter(tmp_path / "out", "20260102T030405-sample")
    writer.append_rows("kernels", [{"kernel_id": 5, "name": "k"}])
    writer.append_rows("calls", [{"call_id": 7, "kernel_id": 5}])
    launches = [(0, 10, 5), (100, 20, None), (200, 30, 2)]
    writer.append_rows(
        "launches",
        [{"seq": seq, "call_id": 7, "enter": begin, "exit": begin + took, "weight": weight}
         for seq, (begin, took, weight) in enumerate(launches)],
    )  # fmt: skip
    writer.seal({})
    (call,) = report_of(tmp_path / "out").calls
    assert (call.launches, call.host_ns, call.host_median_ns) == (8, 130, 10.0)


def test_a_finding_counts_for_each_kernel_that_has_it(tmp_path):
    """As for two copies of a kernel in two files, or one that also a judge has recorded."""
    kernels = [Kernel(), Kernel(module="copy", file="/home/user/copy.py"), Kernel(name="sound")]
    written = write_trace(tmp_path / "t", kernels)
    rows = [VIOLATION, {**VIOLATION, "call_id": 1}, {**PROVEN, "call_id": 2}]
    add_findings(written, rows, [LOAD, INLINED])
    report = report_of(tmp_path / "t")
    assert report.totals.violations == 2
    (placed,) = (each for each in report.findings if each.found.verdict == "violation")
    assert placed.kernel not in placed.other_kernels
    assert len(placed.other_kernels) == 1
    found = {(kernel.name, kernel.file): kernel.violations for kernel in report.kernels}
    assert found == {
        ("scale", "/home/user/kernels.py"): 1, ("scale", "/home/user/copy.py"): 1,
        ("sound", "/home/user/kernels.py"): 0,
    }  # fmt: skip


def test_kernels_without_ir_are_not_judged_and_named_as_their_producer_does(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out"))
    report = report_data(trace, trace.runs, "title", "out/")
    assert "nothing to evaluate or judge" in report.without_ir
    assert not report.judged
    assert [(k.without_ir, k.judged, k.unknowns) for k in report.kernels] == [(True, 0, 1)] * 2
    assert {k.violations for k in report.kernels} == {report.totals.violations} == {None}
    assert report.totals.compile_ns is None
    assert report.device_kinds == ("toydsl", "toydsl")
    assert report.own_kinds == ("toydsl",)


def test_a_mixed_trace_has_the_kernels_that_cannot_be_judged(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out", origins=("jit", "toydsl")))
    report = report_data(trace, trace.runs, "title", "out/")
    assert report.without_ir is None
    assert {k.name: k.without_ir for k in report.kernels} == {"axpy": False, "softmax": True}
    assert dict(zip(report.device_names, report.device_kinds, strict=True)) == {
        "axpy": "Triton", "softmax": "toydsl",
    }  # fmt: skip
