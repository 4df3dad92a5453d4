"""What is derived of kernels, read by Perfetto's engine in our files, equals the profile."""

import re
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.registry import load_converter
from kvtrace.schema.trace import resolve
from tests.engine.shell import executable
from tests.engine.trace_processor import TraceProcessor

pytestmark = pytest.mark.process  # the engine runs in node

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "h200"
COMMAND = "python3 tests/gpu/llama.py --compile --reference llama.json"


def loaded(name, folder, *, replayed, command=None):
    """A recorded trace, and its file in the engine; the command is that of runs with launches."""
    trace = folder / "out"
    shutil.copytree(FIXTURES / name, trace)
    for part in trace.glob("runs/*/*.parquet") if command else ():
        if (trace / "launches" / part.parent.name).is_dir():
            rows = pq.read_table(part, partitioning=None)
            at, kind = rows.schema.get_field_index("command"), rows.schema.field("command")
            pq.write_table(rows.set_column(at, kind, pa.array([command], kind.type)), part)
    if replayed:
        assert main(["replay", str(trace)]) == 0
    load_converter("perfetto").convert(resolve(str(trace)), folder / "file", {})
    return trace, TraceProcessor(folder / "file", folder / "log")


@pytest.fixture(scope="module")
def decoding(tmp_path_factory):
    """An inference loop with its ops: the trace, and the file in the engine."""
    trace, engine = loaded("decoding", tmp_path_factory.mktemp("decoding"), replayed=True)
    with engine:
        yield trace, engine


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    _, engine = loaded(
        "llama_ranks", tmp_path_factory.mktemp("ranks"), replayed=False, command=COMMAND
    )
    with engine:
        yield engine


def fact(name):
    return f"extract_arg(arg_set_id, 'debug.{name}')"


def test_slices_have_the_calls_figures_of_the_profile(decoding):
    trace, engine = decoding
    selection = resolve(str(trace))
    kernels = read_profile(selection.trace, selection.runs, calls=True).kernels
    calls = [call for kernel in kernels for call in kernel.calls]

    found = engine.rows(
        f"select {fact('call')} as call, {fact('derived.bytes')} as bytes, "
        f"{fact('derived.distinct bytes')} as once, {fact('derived.FLOPs')} as flops, "
        f"{fact('derived.bound')} as bound, {fact('derived.time at best ns')} as best "
        f"from slice where category = 'gpu' and {fact('call')} is not null group by 1"
    )

    assert len(found) == len(calls) == 6
    assert sorted(found) == sorted(
        (
            call.call_id,
            round(call.derived.bytes_per_launch),
            call.derived.unique_bytes // call.runs,
            round(call.derived.flops_per_launch),
            call.roofline.bound,
            round(call.roofline.best_ns / call.runs),
        )
        for call in calls
    )


def test_slices_name_the_compared_device_and_threads_per_block(decoding):
    _, engine = decoding

    (found,) = set(
        engine.rows(
            f"select {fact('derived.limits of')} as device from slice "
            f"where category = 'gpu' and {fact('call')} is not null"
        )
    )
    blocks = engine.rows(
        f"select distinct {fact('threads of a block')} as block from slice "
        f"where category = 'gpu' and {fact('call')} is not null"
    )

    assert found == ("H200 SXM (recorded)",)
    assert all(block % 32 == 0 and block <= 1024 for (block,) in blocks)


@pytest.mark.parametrize(
    ("counter", "unit", "amount"),
    [
        ("distinct bytes (derived)", "B/s", "derived.distinct bytes"),
        ("FLOPs (derived)", "FLOP/s", "derived.FLOPs"),
        ("achieved of the roofline (derived)", "%", "derived.time at best ns"),
    ],
)
def test_rate_counter_adds_up_to_the_slices_figures(decoding, counter, unit, amount):
    _, engine = decoding
    scale = 100 if unit == "%" else 1e9
    ran = engine.value(f"select sum(dur) from slice where {fact(amount)} is not null")

    area = engine.value(
        "select sum(value * (next - ts)) from (select value, ts, lead(ts, 1, ts) over "
        "(partition by track_id order by ts) as next from counter join counter_track t "
        f"on track_id = t.id where t.name = '{counter}' and t.unit = '{unit}')"
    )

    wanted = engine.value(f"select sum({fact(amount)}) from slice where category = 'gpu'")
    assert area / scale == pytest.approx(wanted, abs=0.5 * ran / scale)  # rates are whole numbers


def test_rate_counters_return_to_zero(decoding):
    _, engine = decoding

    last = engine.rows(
        "select distinct last_value(value) over (partition by track_id order by ts "
        "rows between unbounded preceding and unbounded following) as v from counter "
        "join counter_track t on track_id = t.id where t.name glob '*(derived)'"
    )

    assert last == [(0.0,)]


def test_device_steps_contain_the_executions_launched_in_them(ranks):
    host = ranks.rows(
        "select s.name, process.name as place, "
        "extract_arg(s.arg_set_id, 'debug.measured.launches') as number "
        "from slice s join process_track t on track_id = t.id join process using (upid) "
        "where category = 'step'"
    )
    device = ranks.rows(
        "select s.name, p.name as place, "
        "extract_arg(s.arg_set_id, 'debug.measured.executions') as number "
        "from slice s join track t on track_id = t.id join track p on t.parent_id = p.id "
        "where s.category = 'step' and p.name glob 'GPU*'"
    )

    assert sorted(name for name, *_ in host) == sorted(2 * [f"step {n}" for n in range(10)])
    assert {place for _, place, _ in device} == {"GPU 0 · rank 0", "GPU 1 · rank 1"}
    assert len(device) == 20
    launched = {(name, place.split(" · ")[0]): number for name, place, number in host}
    for name, place, executions in device:  # kernels of libraries run as well
        assert executions >= launched[name, place.split(" · ")[1]] > 0


def test_process_tracks_have_commands_and_device_tracks_models(ranks):
    commands = ranks.rows(
        "select p.name, extract_arg(t.source_arg_set_id, 'description') as command "
        "from process_track t join process p using (upid) where command is not null"
    )
    models = ranks.rows(
        "select distinct extract_arg(source_arg_set_id, 'description') as about from track "
        "where name glob 'GPU*'"
    )

    own = [command for name, command in commands if "llama.py" in name]
    assert len(own) == 2
    assert all(command.partition("--")[2].startswith("compile --reference") for command in own)
    assert all(model.startswith("NVIDIA H200 · capability 9.0 · ") for (model,) in models)


def test_slices_name_the_findings_of_their_calls(tmp_path):
    # given a violation of a call that was launched on a device
    trace = tmp_path / "out"
    shutil.copytree(FIXTURES / "device", trace)
    opened = resolve(str(trace)).trace
    run = opened.runs[0].run_id
    row = {"finding_id": "v0", "call_id": 1, "rule": "out-of-bounds", "verdict": "violation"}
    opened.add_derived(run, "sanitizer", {"findings": pa.Table.from_pylist([row])})
    load_converter("perfetto").convert(resolve(str(trace)), tmp_path / "file", {})

    with TraceProcessor(tmp_path / "file", tmp_path / "log") as engine:
        found = engine.rows(
            f"select distinct category, {fact('call')} as call, {fact('findings.v0')} as said "
            "from slice where call is not null and said is not null"
        )

    said = "error: out-of-bounds (#/findings/v0 of the report)"
    assert sorted(found) == [("gpu", 1, said), ("launch", 1, said)]


def test_documented_example_joins_engine_results_with_tables(
    decoding, tmp_path, monkeypatch, capsys
):
    import perfetto.trace_processor.api as api

    trace, _ = decoding
    shell = str(executable(tmp_path))

    class Ours(api.PLATFORM_DELEGATE):
        def get_shell_path(self, *_, **__):
            return shell

    monkeypatch.setattr(api, "PLATFORM_DELEGATE", Ours)
    page = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
    (example,) = (
        code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "TraceProcessor" in code
    )
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trace, tmp_path / "out")
    assert main(["convert", "perfetto", "out/", "-o", "train.perfetto-trace"]) == 0
    capsys.readouterr()

    exec(compile(example, "docs/timeline.md", "exec"), {})

    lines = capsys.readouterr().out.splitlines()
    ((line,),) = duckdb.sql(
        "select any_value(k.line) as line from read_parquet('out/gpu_kernels/*/*.parquet') g "
        "join read_parquet('out/calls/*/*.parquet') c using (call_id) "
        "join read_parquet('out/kernels/*/*.parquet') k using (kernel_id) "
        "group by k.name order by sum(epoch_ns(g.end) - epoch_ns(g.start)) desc limit 1"
    ).fetchall()
    assert len(lines) == 6
    assert f".py:{line} " in lines[0]
    assert re.search(r"\d+ times, [\d,]+ µs, \d+% of the roofline$", lines[0])
