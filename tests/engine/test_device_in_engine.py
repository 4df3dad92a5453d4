"""A run on an H200 with its device timeline, read by Perfetto's own engine, equals its tables."""

from pathlib import Path

import duckdb
import pytest

from kvtrace.converters.registry import load_converter
from kvtrace.figures.names import titled
from kvtrace.schema.trace import resolve
from tests.engine.trace_processor import TraceProcessor
from tests.support.perfetto_sums import difference_sentences, sums_of_file, sums_of_tables
from tests.support.synthetic_trace import build_synthetic_trace

pytestmark = pytest.mark.process  # the engine runs in node

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
CASES = [(name, way) for name in ("device", "inductor") for way in ("perfetto", "chrome")]


class Exported:
    """A fixture in the engine (`rows`) and in the database (`tables`)."""

    def __init__(self, name, way, folder):
        self.way, self.name = way, name
        path = FIXTURES / name
        load_converter(way).convert(resolve(str(path)), folder / "file", {})
        self.engine = TraceProcessor(folder / "file", folder / "log")
        self.database = duckdb.connect()
        for table in ("launches", "gpu_kernels"):
            files = f"{path}/{table}/*/*.parquet"
            self.database.sql(f"create view {table} as select * from read_parquet('{files}')")

    def rows(self, sql):
        return sorted(self.engine.rows(sql))

    def tables(self, sql):
        return sorted(self.database.sql(sql).fetchall())

    def fact(self, name):
        prefix = "debug" if self.way == "perfetto" else "args"
        return f"extract_arg(arg_set_id, '{prefix}.{name}')"

    @property
    def track(self):
        """SQL of the device and the stream that a slice stands on, and of its tables."""
        if self.way == "chrome":  # it knows threads only
            return "thread.name", "join thread_track t on track_id = t.id join thread using (utid)"
        return (
            "p.name || ' · ' || t.name",
            "join track t on track_id = t.id join track p on t.parent_id = p.id",
        )


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def exported(request, tmp_path_factory):
    found = Exported(*request.param, tmp_path_factory.mktemp("-".join(request.param)))
    with found.engine:
        yield found


def test_every_execution_is_a_slice_on_the_track_of_its_stream(exported):
    name, tables = exported.track
    ours = exported.rows(
        f"select {name} as place, count(*) as number, sum(dur) as taken from slice {tables} "
        "where category = 'gpu' group by place"
    )

    assert ours == exported.tables(
        "select 'GPU ' || device || ' · stream ' || stream, count(*), "
        'sum(epoch_ns("end") - epoch_ns(start))::bigint from gpu_kernels group by all'
    )


def test_every_execution_keeps_its_name_begin_length_and_launch(exported):
    first = exported.engine.value("select min(ts) from slice where category = 'launch'")
    ours = exported.rows(
        f"select name, ts - {first} as begin, dur, "
        f"coalesce({exported.fact('launch')}, -1) as launch, "
        f"coalesce({exported.fact('graph_id')}, -1) as graph, "
        f"coalesce({exported.fact('graph_node_id')}, -1) as node "
        "from slice where category = 'gpu'"
    )

    theirs = exported.tables(
        "select name, epoch_ns(start) - (select min(epoch_ns(enter)) from launches), "
        'epoch_ns("end") - epoch_ns(start), coalesce(launch_seq, -1), coalesce(graph_id, -1), '
        "coalesce(graph_node_id, -1) from gpu_kernels"
    )
    assert ours == sorted((titled(symbol), *facts) for symbol, *facts in theirs)


def test_trace_processor_refuses_no_device_event(exported):
    assert exported.rows("select name from stats where value > 0 and severity != 'info'") == []


def test_every_joined_execution_and_no_other_has_a_flow(exported):
    """From its launch; in Perfetto from one replay of a launch to the next."""
    ours = exported.rows(
        "select extract_arg(a.arg_set_id, '{0}.launch') as source, "
        "extract_arg(b.arg_set_id, '{0}.launch') as target, b.category as what, "
        "count(distinct slice_in) as number from flow join slice a on slice_out = a.id "
        "join slice b on slice_in = b.id group by 1, 2, 3".format(
            "debug" if exported.way == "perfetto" else "args"
        )
    )

    assert ours == exported.tables(
        "select launch_seq, launch_seq, 'gpu', count(*) from gpu_kernels "
        "where launch_seq is not null group by all"
    )


def test_flows_begin_at_a_launch_and_lead_forward_in_time(exported):
    backward = exported.engine.value(
        "select count(*) from flow join slice a on slice_out = a.id join slice b "
        "on slice_in = b.id where b.ts + 5000 < a.ts"
    )
    begun = exported.engine.value(
        "select count(distinct slice_out) from flow join slice a on slice_out = a.id "
        "where a.category = 'launch'"
    )

    assert backward == 0
    assert [(begun,)] == exported.tables(
        "select count(distinct launch_seq) from gpu_kernels where launch_seq is not null"
    )


def test_each_replay_of_a_graph_is_a_slice_around_its_kernels(exported):
    name, tables = exported.track
    ours = exported.rows(
        f"select {name} as place, slice.name as graph, dur, {exported.fact('kernels')} as kernels "
        f"from slice {tables} where category = 'graph'"
    )

    assert ours == exported.tables(
        "select 'GPU ' || device || ' · graph replays', 'graph ' || graph_id, "
        'max(epoch_ns("end")) - min(epoch_ns(start)), count(*) from gpu_kernels '
        "where graph_id is not null group by device, graph_id, correlation_id"
    )
    assert len(ours) == (5 if exported.name == "device" else 0)


@pytest.mark.parametrize("name", ["device", "inductor"])
def test_executions_are_on_perfettos_gpu_pages_once(name, tmp_path):
    path = FIXTURES / name
    load_converter("perfetto").convert(resolve(str(path)), tmp_path / "file", {"compute": "1"})
    tables = duckdb.sql(
        f"""select name, count(*), sum(epoch_ns("end") - epoch_ns(start))::bigint
            from read_parquet('{path}/gpu_kernels/*/*.parquet') group by name"""
    ).fetchall()

    with TraceProcessor(tmp_path / "file", tmp_path / "log") as engine:
        stages = engine.rows("select name, count(*) as n, sum(dur) as ns from gpu_slice group by 1")
        queues = engine.rows(
            "select t.name, count(*) as n from gpu_slice s join gpu_track t on s.track_id = t.id "
            "group by 1"
        )
        drawn_twice = engine.rows("select 1 as n from slice where category = 'gpu' limit 1")
        refused = engine.rows("select name from stats where value > 0 and severity != 'info'")

    assert sorted(stages) == sorted((titled(symbol), *sums) for symbol, *sums in tables)
    assert all(" · stream " in queue for queue, _ in queues)
    assert drawn_twice == []
    assert refused == []


@pytest.mark.parametrize("name", ["llama_graphs", "llama_ranks", "decoding"])
def test_every_slice_has_a_row_and_every_row_a_slice(name, tmp_path):
    selection = resolve(str(FIXTURES / name))
    load_converter("perfetto").convert(selection, tmp_path / "file", {})

    with TraceProcessor(tmp_path / "file", tmp_path / "log") as engine:
        in_file = sums_of_file(engine.rows)

    in_tables = sums_of_tables(selection.trace, selection.runs)
    assert {"launch", "gpu"} <= {category for category, _ in in_tables.counts}
    assert [*difference_sentences(in_file, in_tables)] == []


def test_hostile_names_and_slices_of_every_shape_are_in_the_file(tmp_path):
    selection = resolve(str(build_synthetic_trace(tmp_path / "out", runs=2, launches=200).path))
    load_converter("perfetto").convert(selection, tmp_path / "file", {})

    with TraceProcessor(tmp_path / "file", tmp_path / "log") as engine:
        in_file = sums_of_file(engine.rows)

    in_tables = sums_of_tables(selection.trace, selection.runs)
    assert [*difference_sentences(in_file, in_tables)] == []
    in_file.total_ns[next(iter(in_file.total_ns))] += 7
    assert len([*difference_sentences(in_file, in_tables)]) == 1
