"""Stored sums of any runs are those of their launches and executions, in any window."""

import shutil
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.kernels import DEVICE_MEDIAN, EXECUTED, HOST_MEDIAN, LAUNCHED
from kvtrace.figures.requested_part import STEADY, WHOLE, RequestedPart
from kvtrace.figures.stored import settings_of, stored_settings, sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.sums_reading import at_rest
from kvtrace.figures.tables import open_times
from kvtrace.figures.times import device_times, host_times, launches_by_phase
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow, TraceWindow
from kvtrace.schema.writer import RunWriter
from tests.figures.written_runs import EPOCH, KERNELS, LAUNCHES, OTHERS, written
from tests.support.thorough import usually
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("**/runs"))
#: Times between stretches, and begin and end of a window; below 128 ns, times have bins of their
#: own (`figures/medians.py`).
CUTS = st.sampled_from([10, 20, 40, 60, 104, 108, 112, 120])
TIMES = st.one_of(CUTS, st.integers(0, 130))
SPANS = st.tuples(TIMES, TIMES)
HOST = tuple(figure.name for figure in (*LAUNCHED, HOST_MEDIAN))
DEVICE = (*(figure.name for figure in EXECUTED), "bytes", DEVICE_MEDIAN.name)


def rows_of(times):
    """Rows of all tables of times as texts, in order of the texts."""
    return [sorted(map(repr, table.to_pylist())) for table in (times.calls, times.kernels)]


def of_both(trace, runs):
    return [rows_of(of(trace, runs)) for of in (host_times, device_times)]


class Leaves:
    """The rows of the views of launches and executions of a trace, added up one by one."""

    def __init__(self, trace):
        self.launches = self._rows(trace, "launch_times", "enter", "exit")
        self.executions = self._rows(trace, "execution_times", "start", "end")
        kernels, calls = (
            trace.table(name, columns=columns).to_pylist()
            for name, columns in (
                ("kernels", ["kernel_id", "name"]),
                ("calls", ["call_id", "kernel_id"]),
            )
        )
        names = {(row["run"], row["kernel_id"]): row["name"] for row in kernels}
        self.kernels = {
            (row["run"], row["call_id"]): names[row["run"], row["kernel_id"]] for row in calls
        }

    @staticmethod
    def _rows(trace, view, begin, end):
        text = f"""
            SELECT * EXCLUDE ("{begin}", "{end}") REPLACE (run::VARCHAR AS run),
                epoch_ns("{begin}") AS begin
            FROM {view}
        """
        with open_times(trace, trace.runs, view) as database:
            return database.sql(text).to_arrow_table().to_pylist()

    def inside(self, rows, windows):
        """Rows of runs with a window that began in it, by run, call, and a name without a call."""
        by_call = {}
        for row in rows:
            low, high = windows.get(row["run"], (1, 0))
            if row["begin"] is not None and low <= row["begin"] < high:
                name = row["name"] if row["call_id"] is None else None
                by_call.setdefault((row["run"], row["call_id"], name), []).append(row)
        return by_call

    def host(self, windows):
        """Figures of launches by call, medians by kernel, and launches by phase."""
        by_call = self.inside([{"name": None, **row} for row in self.launches], windows)
        figures = {
            key: {
                "launches": weight(rows, lambda r: not r["tuning"]),
                "tuning_launches": weight(rows, lambda r: r["tuning"]),
                "captured_launches": weight(rows, lambda r: r["captured"]),
                "timed_launches": weight(rows, lambda r: r["steady"]),
                "host_ns": taken(rows, lambda r: r["steady"]),
                "compiling_launches": weight(rows, lambda r: r["compiling"] and not r["tuning"]),
                "compiling_ns": taken(rows, lambda r: r["compiling"] and not r["tuning"]),
                "host_median_ns": middle(rows),
            }
            for key, rows in by_call.items()
        }
        phases = Counter()
        for (run, call, _), rows in by_call.items():
            for row in rows:
                phases[run, call, row["phase"] or "run"] += row["weight"]
        return figures, self.medians(by_call), phases

    def device(self, windows):
        """Figures of executions by call or name, and medians by kernel or name."""
        by_call = self.inside(self.executions, windows)
        figures = {
            key: {
                "device_executions": weight(rows, lambda r: r["steady"]),
                "device_ns": taken(rows, lambda r: r["steady"]),
                "replays": weight(rows, lambda r: r["replayed"] and not r["tuning"]),
                "tuning_executions": weight(rows, lambda r: r["tuning"] and r["timed"]),
                "tuning_ns": taken(rows, lambda r: r["tuning"]),
                "device_median_ns": None if key[1] is None else middle(rows),
                "bytes": copied(rows) if key[1] is None else None,
            }
            for key, rows in by_call.items()
        }
        return figures, self.medians(by_call)

    def medians(self, by_call):
        by_kernel = {}
        for (run, call, name), rows in by_call.items():
            by_kernel.setdefault(name or self.kernels[run, call], []).extend(rows)
        medians = {kernel: middle(rows) for kernel, rows in by_kernel.items()}
        return {kernel: ns for kernel, ns in medians.items() if ns is not None}


def weight(rows, counts):
    return sum(row["weight"] for row in rows if counts(row))


def taken(rows, counts):
    times = [row["taken"] for row in rows if counts(row) and row["taken"] is not None]
    return sum(times) if times else None


def middle(rows):
    times = [row["ns"] for row in rows if row["steady"] for _ in range(row["weight"])]
    return median(times) if times else None


def copied(rows):
    sizes = [row["bytes"] * row["weight"] for row in rows if row["steady"]]
    return sum(sizes) if sizes else None


def figures_of(times, names):
    """What `Leaves` says of figures `names`, as the times have it."""
    calls = {
        (row["run"], row["call_id"], row["name"]): {name: row[name] for name in names}
        for row in times.calls.to_pylist()
    }
    medians = {row["name"]: row[names[-1]] for row in times.kernels.to_pylist()}
    return calls, medians


@pytest.mark.costly("eight windows of each of six traces; those of recorded traces stay by day")
@settings(max_examples=usually(6, thorough=25), deadline=None)
@given(
    st.lists(st.tuples(KERNELS, LAUNCHES, OTHERS), min_size=3, max_size=3),
    st.lists(st.lists(st.one_of(st.none(), SPANS), min_size=3, max_size=3), min_size=8, max_size=8),
    st.lists(CUTS, min_size=2, max_size=5),
    st.integers(0, 2),
)
def test_sums_of_any_window_are_those_of_its_rows(tmp_path_factory, runs, windows, cuts, unstored):
    folder = tmp_path_factory.mktemp("runs")
    # given a run that was sampled, a run that was killed, and one that was neither
    *launched, others = zip(*runs, strict=True)
    trace = written(folder, list(zip(*launched, strict=True)), others, sampled={0}, killed={1})
    leaves = Leaves(trace)
    chosen = [run for number, run in enumerate(trace.runs) if number != unstored]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kvtrace.figures.sums_building._cuts",
            lambda *_: sorted({EPOCH + cut for cut in cuts}),
        )
        add_up(trace, chosen, least_rows=0)
    assert all(sums_stored(trace, run) for run in chosen)
    for spans in windows:
        inside = {
            run: (EPOCH + min(span), EPOCH + max(span))
            for run, span in zip(trace.runs, spans, strict=False)
            if span is not None
        }
        if not inside:
            continue
        window = TraceWindow(
            trace, EPOCH, EPOCH, {run.run_id: RunWindow(*of, *of) for run, of in inside.items()}
        )
        by_run = {run.run_id: of for run, of in inside.items()}
        host, device = (of(window, list(inside)) for of in (host_times, device_times))
        calls, medians, phases = leaves.host(by_run)
        assert figures_of(host, HOST) == (calls, medians)
        assert {
            (row["run"], row["call_id"], row["phase"]): row["launches"]
            for row in launches_by_phase(window, list(inside)).to_pylist()
        } == phases
        assert figures_of(device, DEVICE) == leaves.device(by_run)


def some_parts(runs):
    """Random parts of random ranks; the same ones for each trace."""
    random = Random(61)
    for _ in range(3):
        since, until = sorted(random.sample(range(101), 2))
        ranks = sorted(random.sample(range(len(runs)), random.randint(1, len(runs))))
        part = RequestedPart(since=f"{since}%", until=f"{until}%")
        yield part, tuple(runs[rank] for rank in ranks)


@pytest.mark.parametrize("runs", some(FIXTURES, 44), ids=lambda path: path.parent.name)
def test_sums_of_recorded_traces_are_those_of_their_rows(runs, tmp_path):
    shutil.copytree(runs.parent, tmp_path / "out")
    leaves, trace = open_trace(tmp_path / "out"), open_trace(tmp_path / "out")
    asked = [(WHOLE, leaves.runs), (STEADY, leaves.runs), *some_parts(leaves.runs)]
    expected = [of_both(windowed(leaves, of, part)[0], of) for part, of in asked]
    add_up(trace, trace.runs, least_rows=0)
    found = [of_both(windowed(trace, of, part)[0], of) for part, of in asked]
    for ours, theirs in zip(found, expected, strict=True):
        for our_tables, their_tables in zip(ours, theirs, strict=True):
            for our_rows, their_rows in zip(our_tables, their_tables, strict=True):
                assert_equal_but_for_bins(our_rows, their_rows)


def assert_equal_but_for_bins(ours, theirs):
    """Rows are equal, medians within the precision of a bin."""
    columns = [pa.Table.from_pylist([eval(row) for row in rows]) for rows in (ours, theirs)]
    assert columns[0].column_names == columns[1].column_names
    exact = [name for name in columns[0].column_names if not name.endswith("median_ns")]
    keys = [
        name for name in exact if name in ("run", "call_id", "module", "name", "source", "kind")
    ]
    assert sorted(map(repr, columns[0].select(exact).to_pylist())) == sorted(
        map(repr, columns[1].select(exact).to_pylist())
    )
    for name in set(columns[0].column_names).difference(exact):
        medians = [
            {tuple(row[key] for key in keys): row[name] for row in table.to_pylist()}
            for table in columns
        ]
        assert medians[0].keys() == medians[1].keys()
        for key, theirs_ns in medians[1].items():
            assert medians[0][key] == (
                theirs_ns if theirs_ns is None else pytest.approx(theirs_ns, rel=1 / 64)
            )


def test_a_steady_part_is_read_from_sums_alone(tmp_path):
    (runs,) = (runs for runs in FIXTURES if runs.parent.name == "decoding")
    shutil.copytree(runs.parent, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    add_up(trace, trace.runs, least_rows=0)
    window = windowed(trace, trace.runs)[0]
    assert isinstance(window, TraceWindow)
    for table in ("launch_sums", "execution_sums"):
        assert at_rest(window, trace.runs, table) == (trace.runs, ())


def test_sums_of_other_files_do_not_count(tmp_path):
    written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    trace = open_trace(tmp_path)
    add_up(trace, trace.runs, least_rows=0)
    run = trace.runs[0]
    assert stored_settings(trace, run)["launches"] == settings_of(trace, run)["launches"]
    (part,) = (tmp_path / "launches" / "run=r0").iterdir()
    shutil.copy(part, part.with_name("part-00001.parquet"))
    assert not sums_stored(open_trace(tmp_path), run)


def test_short_runs_and_runs_that_go_on_are_left(tmp_path):
    trace = written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    writer = RunWriter(tmp_path, "r1")
    writer.append("launches", {"seq": [0], "call_id": [0]})
    writer.flush()
    trace = open_trace(tmp_path)
    add_up(trace, trace.runs)
    add_up(trace, trace.runs[1:], least_rows=0)
    assert not any(sums_stored(trace, run) for run in trace.runs)
    writer.close()


@pytest.mark.parametrize(("least", "sentences"), [(2, 1), (3, 0)])
def test_the_opener_is_told_before_many_rows_are_added_up(tmp_path, monkeypatch, least, sentences):
    trace = written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    rows = sum(trace.table(name).num_rows for name in ("launches", "gpu_kernels"))
    monkeypatch.setattr("kvtrace.figures.sums_building._MANY_ROWS", rows + least - 2)
    told = []
    trace.tell = told.append
    add_up(trace, trace.runs, least_rows=0)
    assert len(told) == sentences
    add_up(trace, trace.runs, least_rows=0)
    assert len(told) == sentences  # the second time there is nothing to add up
