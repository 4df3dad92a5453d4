"""Figures of three recorded traces, by SQL by hand, are those of every output that shows them.

One has steps by period, 164 kernels and host events, one two ranks, one marks and a start-up.
"""

from pathlib import Path
from statistics import median

import pytest

from kvtrace.converters.profile.call_paths import GROUPINGS
from kvtrace.converters.profile.call_tree import call_tree
from tests.converters.figures_by_hand import HandSql
from tests.converters.recorded_outputs import recorded_outputs

LONG = pytest.mark.costly("all outputs of a model's run; those of a small program stay by day")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("llama_steady", marks=LONG),
        pytest.param("llama_ranks", marks=LONG),
        "planted/item",
    ],
)
def traced(request):
    """A trace by SQL by hand, and its outputs."""
    outputs = recorded_outputs(request.param)
    return HandSql(outputs.folder), outputs


def summed(rows, name):
    return sum(row[name] or 0 for row in rows)


def test_counts_of_all_that_was_recorded(traced):
    hand, of = traced
    runs, totals, page = of.info["runs"], of.page.totals, of.page

    assert hand.value("SELECT count(*) FROM runs") == len(runs) == len(page.runs)
    launches = hand.value("SELECT count(*) FROM launches")
    assert launches == summed(runs, "launches") == totals.launches
    assert launches == of.sql("SELECT count(*) FROM launched")
    phases = dict(hand.rows("SELECT phase, count(*) FROM launches GROUP BY phase"))
    assert phases == totals.phases
    assert phases == {p: sum((r["phases"] or {}).get(p, 0) for r in runs) for p in phases}
    executions = hand.value("SELECT count(*) FROM gpu_kernels")
    assert executions == summed(runs, "gpu_kernels") == totals.gpu_kernels
    assert executions == of.sql("SELECT count(*) FROM executed")
    calls = hand.value("SELECT count(*) FROM calls")
    assert calls == summed(runs, "calls") == totals.calls == of.sql("SELECT count(*) FROM called")
    assert hand.value("SELECT count(*) FROM kernels") == summed(runs, "kernels") == totals.variants
    kernels = hand.value("SELECT count(*) FROM (SELECT DISTINCT module, name, source FROM kernel)")
    assert kernels == len(of.info["kernels"]) == len(of.profile["kernels"]) == len(page.kernels)
    assert kernels == totals.kernels == len(of.diff.kernels)
    assert hand.value("SELECT count(*) FROM marks") == summed(runs, "marks") == len(page.marks)
    assert hand.value("SELECT count(*) FROM messages") == len(page.messages)
    streams = "SELECT DISTINCT run, device, stream FROM gpu_kernels"
    assert hand.value(f"SELECT count(*) FROM ({streams})") == sum(
        track.kind == "device" for track in page.tracks
    )
    devices = hand.value("SELECT count(*) FROM (SELECT DISTINCT run, device FROM gpu_kernels)")
    assert devices == of.profile["device_time"]["devices"]
    longest = hand.value("SELECT max(epoch_ns(ended) - epoch_ns(started)) FROM runs")
    assert longest == max(run["ended"] - run["started"] for run in runs)
    assert longest == max(run.duration_ns for run in page.runs)
    overhead = hand.value("SELECT sum(self_overhead_ns) FROM runs")
    assert overhead == summed(runs, "self_overhead_ns")
    assert overhead == sum(run.self_overhead_ns for run in page.runs)


def test_compile_times_and_recompiles(traced):
    hand, of = traced
    compiled = hand.value("SELECT sum(compile_ns) FROM kernels")
    again = "FROM kernel WHERE nth > 1 AND NOT cache_hit AND compile_ns IS NOT NULL"
    variants = [
        variant
        for variant in of.page.variants
        if variant.recompiled and not variant.cache_hit and variant.compile_ns is not None
    ]

    assert compiled == summed(of.profile["kernels"], "compile_ns") == of.page.totals.compile_ns
    assert compiled == of.diff.totals.compile_ns
    for grouping in GROUPINGS:
        assert call_tree(of.page.call_sums, grouping).figures.compile_ns == compiled
    stages = "SELECT unnest(stages) AS s FROM kernels"
    assert of.page.totals.stages == {
        stage: ns
        for stage, ns in hand.rows(
            f"SELECT s.stage, sum(s.duration_ns) FROM ({stages}) GROUP BY s.stage"
        )
        if ns is not None
    }
    assert len(variants) == hand.value(f"SELECT count(*) {again}")
    assert len({variant.kernel for variant in variants}) == hand.value(
        f"SELECT count(*) FROM (SELECT DISTINCT module, name, source {again})"
    )


def test_window_of_steps_and_start_up(traced):
    hand, of = traced
    window, strips = of.info["window"], of.profile["gaps"]["steps"]
    of_steps = [ns for strip in strips for ns in strip["duration_ns"]]

    assert hand.value("SELECT min(device_begin) FROM part") == window["begin"]
    assert hand.value("SELECT max(device_end) FROM part") == window["end"]
    steps = hand.value("SELECT count(*) FROM step")
    assert steps == window["steps"] == of.page.device_time.steps.number == len(of_steps)
    assert hand.value("SELECT median(ns) FROM step") == window["step_ns"] == median(of_steps)
    assert sorted(ns for (ns,) in hand.rows("SELECT ns FROM step")) == sorted(of_steps)
    slow = hand.value(
        "SELECT count(*) FROM step JOIN (SELECT run, median(ns) AS middle FROM step GROUP BY run) "
        "USING (run) WHERE ns > 1.5 * middle"
    )
    assert (f"{slow} of {steps} steps took more than 1.5 times" in of.text) == (slow > 0)
    number, ns = hand.rows("SELECT n, ns FROM step ORDER BY ns DESC LIMIT 1")[0]
    places = [s["first"] + p for s in strips for p, t in enumerate(s["duration_ns"]) if t == ns]
    assert places == [number]
    start_up, run, first, begin = hand.rows(
        "SELECT device_begin - first, run, first, device_begin FROM part "
        "JOIN (SELECT run, min(start_ns) AS first FROM execution GROUP BY run) USING (run) "
        "ORDER BY 1 DESC LIMIT 1"
    )[0]
    assert start_up == window["before_ns"]
    # Generated code is made in the gap in which it is loaded.
    assert window["before_compiling_ns"] == hand.value(
        f"""
        WITH made AS (
            SELECT origin, epoch_ns(compile_begin) AS low, low + compile_ns AS high
            FROM kernels WHERE run = '{run}'
            UNION ALL SELECT origin, epoch_ns(load_begin) AS low, low + load_ns
            FROM kernels WHERE run = '{run}'),
        span AS (
            SELECT low, high FROM made
            UNION ALL SELECT
                (SELECT max(end_ns) FROM execution WHERE run = '{run}' AND start_ns <= low),
                (SELECT least(min(start_ns), {begin}) FROM execution
                 WHERE run = '{run}' AND start_ns > low)
            FROM made WHERE origin = 'inductor' AND low > {first} AND low < {begin}
                AND high IS NOT NULL),
        before AS (
            SELECT greatest(low, {first}) AS low, least(high, {begin}) AS high, max(high) OVER (
                ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
            FROM span WHERE low IS NOT NULL AND high IS NOT NULL)
        SELECT sum(greatest(0, high - greatest(low, coalesce(covered, 0)))) FROM before
        """
    )


def test_gpu_time_busy_and_idle(traced):
    hand, of = traced
    time, busy = of.profile["device_time"], of.profile["device_time"]["busy"]
    gpu_ns = hand.value("SELECT sum(ns) FROM inside")
    busy_ns = hand.value("SELECT sum(new_ns) FROM covered")
    span_ns = hand.value("SELECT sum(device_end - device_begin) FROM part")

    assert hand.value("SELECT count(*) FROM inside") == time["executions"]
    assert (
        gpu_ns == time["device_ns"] == of.page.totals.device_ns == summed(time["rows"], "device_ns")
    )
    assert gpu_ns == sum(row.device_ns for row in of.page.answer.ran)
    for grouping in GROUPINGS:
        assert call_tree(of.page.call_sums, grouping).figures.device_ns == gpu_ns
    assert (busy_ns, gpu_ns - busy_ns) == (busy["busy_ns"], busy["overlapped_ns"])
    assert (span_ns, span_ns - busy_ns) == (busy["span_ns"], busy["idle_ns"])
    assert of.info["device_time"] == time
    assert hand.value("SELECT sum(bytes) FROM inside") == summed(time["rows"], "bytes")
    small = hand.value("SELECT count(*) FROM inside WHERE kind IS NULL AND ns < 5000")
    assert small == summed(of.profile["gaps"]["short_executions"], "number")


def test_kernels_and_libraries(traced):
    hand, of = traced
    rows, kernels = of.profile["device_time"]["rows"], of.profile["kernels"]
    called = "inside LEFT JOIN calls USING (run, call_id) LEFT JOIN kernel k USING (run, kernel_id)"
    by_kernel = hand.rows(
        "SELECT k.name, k.source, count(*), sum(ns), median(ns) "
        f"FROM {called} WHERE k.name IS NOT NULL GROUP BY k.module, k.name, k.source"
    )
    shown = [row for row in rows if row["kind"] == "Triton"]

    assert sorted(by_kernel) == sorted(
        (r["name"], r["source"], r["executions"], r["device_ns"], r["median_ns"]) for r in shown
    )
    measured = [kernel["measured"] for kernel in kernels]
    triton_ns = sum(ns for *_, ns, _ in by_kernel)
    assert triton_ns == summed(measured, "device_ns") == summed(of.info["kernels"], "device_ns")
    assert triton_ns == sum(kernel.device_ns or 0 for kernel in of.page.kernels)
    executions = sum(number for _, _, number, *_ in by_kernel)
    assert executions == summed(measured, "device_executions")
    library_ns, all_ns = hand.rows(
        f"SELECT sum(ns) FILTER (k.name IS NULL AND kind IS NULL), sum(ns) FROM {called}"
    )[0]
    libraries = [row for row in rows if row["kind"] not in ("Triton", "copy", "fill")]
    assert library_ns == summed(libraries, "device_ns")
    assert f": {library_ns / all_ns * 100:.1f} % of GPU time" in of.text
    assert rows[0]["share"] == pytest.approx(max(row["device_ns"] for row in rows) / all_ns)


def test_launches_and_their_time_on_the_host(traced):
    hand, of = traced
    kernels, whole = of.profile["kernels"], of.diff.totals
    launches, host_ns = hand.rows("SELECT count(*), sum(ns) FROM launched")[0]

    assert launches == summed(kernels, "launches") == summed(of.info["kernels"], "launches")
    assert launches == sum(kernel.launches for kernel in of.page.kernels)
    assert host_ns == of.page.totals.host_ns == summed(of.info["kernels"], "host_ns")
    assert host_ns == sum(kernel["measured"]["host_ns"] or 0 for kernel in kernels)
    medians = hand.rows(
        "SELECT k.name, k.source, median(ns) FROM launched JOIN calls USING (run, call_id) "
        "JOIN kernel k USING (run, kernel_id) GROUP BY k.module, k.name, k.source"
    )
    assert sorted(medians) == sorted(
        (k["name"], k["source"], k["measured"]["host_median_ns"]) for k in kernels if k["launches"]
    )
    tuned = "phase IN ('autotune', 'warmup')"  # a diff is of whole runs
    assert (whole.launches, whole.tuning_launches) == hand.rows(
        f"SELECT count(*) FILTER (NOT {tuned}), count(*) FILTER ({tuned}) FROM launches"
    )[0]


def test_idle_time_by_cause(traced):
    hand, of = traced
    if not hand.value("SELECT count(*) FROM (SHOW TABLES) WHERE name = 'host_events'"):
        pytest.skip("no host events before format 1.9, so causes are not all known")

    assert hand.idle_by_cause() == of.profile["gaps"]["by_cause"] == of.page.answer.gaps.by_cause
    paused, pauses = hand.rows(
        "SELECT coalesce(sum(ns), 0), count(*) FROM (SELECT sum(ns)::BIGINT AS ns FROM cause "
        "WHERE cause = 'host' GROUP BY gap) WHERE ns >= 1000000"
    )[0]
    assert (paused, pauses) == (of.profile["gaps"]["paused_ns"], of.profile["gaps"]["pauses"])
    by_step = hand.rows(
        "SELECT n, cause, sum(cause.ns)::BIGINT FROM cause JOIN step USING (run) "
        "WHERE low >= device_begin AND low < device_end GROUP BY n, cause"
    )
    (strip,) = of.profile["gaps"]["steps"]
    assert {(step, cause): ns for step, cause, ns in by_step} == {
        (strip["first"] + place, cause): ns
        for cause, idle_ns in strip["idle_ns"].items()
        for place, ns in enumerate(idle_ns)
        if ns
    }


def test_lines_of_the_program_with_most_gpu_time(traced):
    hand, of = traced
    # What Inductor generated a kernel from, or the operator that called a library, the first one
    # (the others are views of its inputs); else the innermost frame outside torch, Triton and
    # generated code.
    by_line = hand.rows(
        """
        WITH leaf AS (
            SELECT ns, k.origins AS generated, s.origins AS called, s.frames
            FROM inside i LEFT JOIN calls c USING (run, call_id)
            LEFT JOIN kernels k USING (run, kernel_id)
            LEFT JOIN (SELECT DISTINCT ON (stack_id) stack_id, frames, {origins} AS origins
                FROM stacks) s ON s.stack_id = coalesce(i.stack_id, c.stack_id)),
        line AS (
            SELECT ns, [o.file || ':' || o.line FOR o IN generated IF o.file IS NOT NULL] AS first,
                [o.file || ':' || o.line FOR o IN called IF o.file IS NOT NULL AND (
                    coalesce(called[1].op, '') = '' OR coalesce(called[1].node, '') = ''
                    OR (o.op = called[1].op AND o.node = called[1].node))] AS second,
                [f.file || ':' || f.line FOR f IN frames
                    IF NOT regexp_matches(f.file, '-packages/(torch|triton)/|torchinductor/|^<')
                ][1:1] AS third
            FROM leaf)
        SELECT list_sort(list_distinct(CASE WHEN len(first) > 0 THEN first
            WHEN len(second) > 0 THEN second ELSE third END)) AS lines, sum(ns) AS ns
        FROM line GROUP BY lines HAVING len(lines) > 0 ORDER BY ns DESC
        """.format(
            origins="NULL::STRUCT(op VARCHAR, node VARCHAR, file VARCHAR, line INTEGER)[]"
            if "origins" not in {n for n, *_ in hand.rows("DESCRIBE stacks")}
            else "origins"
        )
    )
    costly = of.page.costly_lines

    assert [line.device_ns for line in costly.lines] == [ns for _, ns in by_line[:3]]
    for line, (places, _) in zip(costly.lines, by_line, strict=False):
        file, _, number = places[0].rpartition(":")
        assert f"{Path(file).name}:{number}" in line.label
    assert costly.known_ns == sum(ns for _, ns in by_line)
    assert costly.device_ns == of.page.totals.device_ns
