"""What Perfetto's own engine reads in our files equals what DuckDB reads in the tables."""

import json

import duckdb
import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kvtrace.converters.registry import load_converter
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.engine.trace_processor import TraceProcessor
from tests.support.synthetic_trace import EPOCH, build_synthetic_trace

pytestmark = pytest.mark.process  # the engine runs in node

FORMATS = ("perfetto", "chrome")
FAULTS = (
    "tokenizer_skipped_packets",
    "track_event_tokenizer_errors",
    "interned_data_tokenizer_errors",
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return build_synthetic_trace(tmp_path_factory.mktemp("trace") / "out", runs=3, launches=400)


@pytest.fixture(scope="module", params=FORMATS)
def engine(request, trace, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    file = folder / "timeline"
    load_converter(request.param).convert(resolve(str(trace.path)), file, {})
    with TraceProcessor(file, folder / "log") as processor:
        yield processor


@pytest.fixture(scope="module")
def tables(trace):
    connection = duckdb.connect()
    for table in ("launches", "calls", "kernels", "marks", "gpu_kernels", "messages"):
        files = f"{trace.path}/{table}/*/*.parquet"
        connection.sql(
            f"create view {table} as select * from read_parquet('{files}', hive_partitioning=true)"
        )
    return connection


def as_the_engine_says(name):
    """The engine's SQL ends a string at NUL, so we write the symbol of NUL."""
    return name.replace("\0", "␀")


def as_the_engine_says_of_json(name):
    """Its JSON reader leaves escapes in names as they stand, and names what has no name."""
    return json.dumps(as_the_engine_says(name), ensure_ascii=False)[1:-1].replace('\\"', '"') or (
        "[No name]"
    )


def spelling(engine):
    is_json = engine.value(
        "select count(*) from stats where name = 'json_display_time_unit' and value = 1"
    )
    return as_the_engine_says_of_json if is_json else as_the_engine_says


@pytest.mark.smoke
def test_trace_processor_skips_and_refuses_no_event(engine):
    found = dict(engine.rows("select name, sum(value) from stats group by name"))

    assert {name: found[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert engine.rows("select name from stats where value > 0 and severity != 'info'") == []


def test_launch_slices_have_names_counts_and_durations_of_the_tables(engine, tables):
    ours = engine.rows(
        "select name, count(*), sum(dur) from slice where category = 'launch' group by name"
    )
    theirs = tables.sql(
        "select k.name, count(*), sum(epoch_ns(exit) - epoch_ns(enter)) from launches l "
        "join calls c using (run, call_id) join kernels k using (run, kernel_id) group by k.name"
    ).fetchall()

    name = spelling(engine)
    assert sorted(ours) == sorted((name(n), count, int(total)) for n, count, total in theirs)


def test_every_launch_keeps_its_begin_and_end(engine, tables, trace):
    begin = engine.value("select min(ts) from slice where category = 'launch'")
    key = "args.launch" if spelling(engine) is as_the_engine_says_of_json else "debug.launch"
    ours = engine.rows(
        f"select extract_arg(arg_set_id, '{key}'), ts - {begin}, dur from slice "
        "where category = 'launch'"
    )
    theirs = tables.sql(
        "select seq, epoch_ns(enter) - (select min(epoch_ns(enter)) from launches), "
        "epoch_ns(exit) - epoch_ns(enter) from launches"
    ).fetchall()

    assert len(ours) == trace.launches
    assert sorted(ours) == sorted(theirs)


def test_no_slice_has_a_negative_duration(engine):
    assert engine.value("select count(*) from slice where dur < 0") == 0


@pytest.mark.parametrize(
    ("category", "count"),
    [
        ("gpu", "select count(*) from gpu_kernels"),
        ("mark", "select count(*) from marks"),
        ("message", "select count(*) from messages"),
        (
            "compile",
            "select (select count(*) from kernels) + (select count(*) from kernels, "
            "unnest(stages) s where s.unnest.duration_ns is not null)",
        ),
    ],
)
def test_every_row_of_other_tables_is_a_slice_of_its_category(engine, tables, category, count):
    ours = engine.value(f"select count(*) from slice where category = '{category}'")

    assert [(ours,)] == tables.sql(count).fetchall()


def test_stages_lie_inside_their_compilation(engine, tables):
    stages = engine.rows(
        "select s.name, s.dur, p.name glob 'compile*' from slice s join slice p "
        "on s.parent_id = p.id where s.category = 'compile'"
    )
    timed = tables.sql(
        "select s.unnest.stage, s.unnest.duration_ns, true from kernels, unnest(stages) s "
        "where s.unnest.duration_ns is not null"
    ).fetchall()

    assert sorted((name, dur, bool(inside)) for name, dur, inside in stages) == sorted(timed)


def test_each_launch_has_a_flow_to_its_execution(engine, tables):
    prefix = "args" if spelling(engine) is as_the_engine_says_of_json else "debug"
    flows = engine.rows(
        f"select extract_arg(a.arg_set_id, '{prefix}.launch') as launch, "
        f"extract_arg(b.arg_set_id, '{prefix}.launch') as execution, "
        "a.category as start, b.category as target, b.ts > a.ts as later "
        "from flow join slice a on slice_out = a.id join slice b on slice_in = b.id"
    )
    linked = tables.sql(
        "select launch_seq from gpu_kernels where launch_seq is not null"
    ).fetchall()

    assert sorted(flows) == sorted((seq, seq, "launch", "gpu", 1) for (seq,) in linked)


def test_no_flow_connects_two_ranks(engine):
    lasting = engine.rows(
        "select b.ts - a.ts as between_ns from flow "
        "join slice a on slice_out = a.id join slice b on slice_in = b.id"
    )

    assert max(lasting) < (50_000_000,)  # the ranks begin 100 ms after one another


def test_launch_slices_have_their_arguments(engine, tables):
    prefix = "args" if spelling(engine) is as_the_engine_says_of_json else "debug"
    facts = dict(
        engine.rows(
            "select flat_key, coalesce(string_value, int_value) from args where arg_set_id = "
            "(select arg_set_id from slice where category = 'launch' and "
            f"extract_arg(arg_set_id, '{prefix}.call') = 1 order by ts limit 1)"
        )
    )

    assert facts[f"{prefix}.args.x_ptr"] == "fp32[2000, 2] strides (2, 1) on cuda:0"
    assert facts[f"{prefix}.args.n"] == "2000"
    assert facts[f"{prefix}.grid"] == "(16, 1, 1)"
    assert facts[f"{prefix}.defined"] == "kernels.py:10"
    assert facts[f"{prefix}.launched from"] == "train.py:41 in train_step"
    assert facts[f"{prefix}.phase"] in ("run", "autotune", "warmup")


def test_ranks_with_one_process_id_are_separate_processes(engine):
    processes = engine.rows(
        "select process.name as name, pid, count(distinct tid) as threads from process "
        "join thread using (upid) where tid in (4242, 4243) group by upid order by 1"
    )

    assert [name.split(" · ")[0] for name, _, _ in processes] == ["rank 0", "rank 1", "rank 2"]
    assert [threads for _, _, threads in processes] == [2, 2, 2]
    assert len({pid for _, pid, _ in processes}) == 3


def test_launch_slices_are_on_the_tracks_of_their_threads(engine, tables):
    ours = engine.rows(
        "select upid, tid, count(*) from slice s join thread_track t on s.track_id = t.id "
        "join thread using (utid) where category = 'launch' group by upid, tid"
    )
    theirs = tables.sql(
        "select run, thread, count(*) from launches group by run, thread"
    ).fetchall()

    on_lanes = 3  # one of each run's crafted launches overlaps another
    assert sum(count for *_, count in ours) >= sum(count for *_, count in theirs) - on_lanes
    assert sorted(tid for _, tid, _ in ours if tid < 4300) == sorted(t for _, t, _ in theirs)


def test_launch_counter_adds_up_to_all_launches(engine, trace):
    total = engine.value(
        "select sum(value * steps) from (select value, (coalesce(lead(ts) over "
        "(partition by track_id order by ts), ts) - ts) / 1000000 as steps from counter)"
    )

    assert total == trace.launches


@pytest.mark.parametrize("name", FORMATS)
def test_overlapping_and_nested_launches_are_all_in_the_timeline(tmp_path, name):
    """Equal, nested, touching, empty and overlapping launches by the thousand, on three threads."""
    random = np.random.default_rng(5)
    count = 4_000
    begin = EPOCH + random.integers(0, 3_000, count) * 1_000
    length = random.choice([0, 0, 1, 2, 3, 40], count) * 1_000
    writer = RunWriter(tmp_path / "out", "20260102-030405-000-0000abcd")
    writer.append(
        "launches",
        {
            "seq": np.arange(count),
            "call_id": np.zeros(count, np.int64),
            "enter": begin,
            "exit": begin + length,
            "thread": random.integers(1, 4, count),
        },
    )
    writer.seal({"started": EPOCH})
    load_converter(name).convert(resolve(str(tmp_path / "out")), tmp_path / "timeline", {})

    with TraceProcessor(tmp_path / "timeline", tmp_path / "log") as engine:
        seen = engine.rows("select ts, dur from slice where category = 'launch'")

    first = min(time for time, _ in seen)
    expected = zip((begin - begin.min()).tolist(), length.tolist(), strict=True)
    assert sorted((time - first, duration) for time, duration in seen) == sorted(expected)


def test_engine_harness_detects_silently_dropped_events(trace, tmp_path):
    """Given a file without flags, then launches are missing in the engine: these tests can fail."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    load_converter("perfetto").convert(resolve(str(trace.path)), good, {})
    spoiled = pb.Trace.FromString(good.read_bytes())
    for packet in spoiled.packet:
        packet.ClearField("sequence_flags")
    bad.write_bytes(spoiled.SerializeToString())

    with TraceProcessor(bad, tmp_path / "log") as engine:
        count = engine.value("select count(*) from slice where category = 'launch'")

    assert count < trace.launches
