"""NKI kernels of the corpus in Perfetto's own engine: tracks of the engines, and counters."""

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.on_chip import on_chip_calls
from kvtrace.converters.registry import load_converter
from kvtrace.schema.trace import resolve
from tests.addons.neuron.kernels.catalog import CASES
from tests.engine.trace_processor import TraceProcessor

IN_ORDER = "ops in their order, not their times"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    out = tmp_path_factory.mktemp("nki") / "out"
    with kvtrace.capture(out):
        for case in CASES:
            kernel = case.kernel[case.grid] if case.grid != (1,) else case.kernel
            kernel(*case.arguments(np.random.default_rng(7)), **case.settings)
    return resolve(str(out))


@pytest.fixture(scope="module")
def engine(recorded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    load_converter("perfetto").convert(recorded, folder / "timeline", {})
    with TraceProcessor(folder / "timeline", folder / "log") as processor:
        yield processor


@pytest.fixture(scope="module")
def calls(recorded):
    return on_chip_calls(recorded.trace, recorded.runs)


@pytest.mark.process
def test_perfetto_imports_every_event_of_nki_timelines(engine):
    assert engine.rows("select name from stats where value > 0 and severity != 'info'") == []
    assert engine.value("select count(*) from slice where dur < 0") == 0


def test_every_kernel_of_the_corpus_was_observed(calls):
    assert len(calls) == len(CASES)
    assert all(call.executed for call in calls)


@pytest.mark.process
def test_each_engine_has_a_track_with_its_ops(engine, calls):
    ours = engine.rows(
        "select p.name as call, t.name as engine, count(*) as ops from slice s "
        "join track t on s.track_id = t.id join track p on t.parent_id = p.id "
        "where s.category = 'nki' group by p.id, t.id"
    )

    counts = {
        (f"{call.kernel}, call {call.call_id}", f"{work.engine} engine"): work.executions
        for call in calls
        for work in call.engines
    }
    assert {(call.removesuffix(f": {IN_ORDER}"), track): ops for call, track, ops in ours} == counts


@pytest.mark.process
def test_counters_reach_the_peaks_and_end_at_zero(engine, calls):
    peaks = engine.rows(
        "select p.name as call, t.name as counter, max(c.value) as peak, "
        "(select l.value from counter l where l.track_id = t.id order by l.ts desc limit 1) "
        "as last from counter c join track t on c.track_id = t.id "
        "join track p on t.parent_id = p.id where t.name like '% (of %)' group by t.id"
    )

    expected = sorted(
        (f"{call.kernel}, call {call.call_id}: {IN_ORDER}", usage.peak)
        for call in calls
        for usage in call.usage
        if usage.peak
    )
    assert sorted((name, int(peak)) for name, _, peak, _ in peaks) == expected
    assert all(last == 0 for *_, last in peaks)
    assert {name.partition(" (of")[0] for _, name, *_ in peaks} == {
        "PSUM banks",
        "SBUF bytes a partition",
    }


@pytest.mark.process
def test_slices_of_ops_have_their_source_line(engine):
    lines = engine.rows(
        "select distinct a.string_value from slice s join args a using (arg_set_id) "
        "where s.category = 'nki' and s.name = 'nisa.nc_matmul' and a.key = 'debug.line'"
    )

    assert {line.partition(":")[0] for (line,) in lines} >= {"products.py", "attention.py"}
