"""Files of other tools as runs: what each has, sums of times, and what bad input does."""

import gzip
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource, importer_names
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.report.data import report_data
from kvtrace.figures.identity import CUSTOM
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.errors import BadSetting, KvtraceError, TraceNotFound
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.cli.file_mutations import mutate_file
from tests.support.foreign_traces import (
    EPOCH_NS,
    GEMM,
    KERNEL_NS,
    WITH_TIMES,
    write_kineto,
    write_nsys_sqlite,
    write_rocprofv3_csv,
    write_rocprofv3_json,
)
from tests.support.thorough import usually


def imported(path, out, source=None):
    import_files([path], out, source)
    return open_trace(out)


def executions(trace):
    return plain_rows(trace.table("gpu_kernels"))


@pytest.mark.parametrize("kind", WITH_TIMES)
def test_a_file_is_recognized_and_sums_of_kernel_times_are_those_written(kind, tmp_path):
    source, write = WITH_TIMES[kind]
    trace = imported(write(tmp_path), tmp_path / "out")
    (run,) = trace.runs
    assert run.source == source
    assert run.group_id
    kernels = [row for row in executions(trace) if row["kind"] is None]
    taken = sum((row["end"] - row["start"]) * (row["weight"] or 1) for row in kernels)
    assert taken == KERNEL_NS
    assert {row["name"] for row in kernels} == {"added", GEMM}
    assert validate(tmp_path / "out") == []
    assert trace.table("messages").num_rows


def test_a_file_without_kernels_promises_no_profile(tmp_path, capsys):
    source = write_kineto(tmp_path)
    content = json.loads(source.read_text())
    content["traceEvents"] = [e for e in content["traceEvents"] if e.get("cat") == "cpu_op"]
    source.write_text(json.dumps(content))
    assert main(["import", str(source), "-o", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert "there is nothing to profile: record the device, too" in text
    assert "shows what took the time" not in text
    for options in ([], ["--by", "module"]):
        assert main(["profile", str(tmp_path / "out"), *options]) == 2
        text = capsys.readouterr().out
        assert "there is nothing to profile: record the device, too" in text
        assert "recover" not in text


@pytest.mark.parametrize("write", [write_kineto, write_rocprofv3_csv, write_rocprofv3_json])
@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_skipped(write, packed, tmp_path):
    path = write(tmp_path)
    content = b"\xef\xbb\xbf" + path.read_bytes()
    path.write_bytes(gzip.compress(content) if packed else content)
    trace = imported(path, tmp_path / "out")
    assert len(executions(trace)) == 4 - (write is write_rocprofv3_csv)


def test_rows_from_torch_profiler_have_every_field_of_the_file(tmp_path):
    trace = imported(write_kineto(tmp_path, rank=1), tmp_path / "out")
    (run,) = trace.runs
    assert (run.rank, run.world_size, run.pid) == (1, 2, 100)
    assert run.devices[0]["name"] == "NVIDIA H100 80GB HBM3"
    first, _, gemm, copy = executions(trace)
    assert first["start"] == EPOCH_NS + 1_020_125
    assert first["requested"] == EPOCH_NS + 1_010_000
    assert (first["request_thread"], first["stream"], first["device"]) == (100, 7, 1)
    assert [first[f"block_{axis}"] for axis in "xyz"] == [128, 1, 1]
    assert (first["registers"], first["shared_bytes"], first["launch_seq"]) == (32, 512, 0)
    assert gemm["call_id"] is None  # a library's
    assert first["graph_id"] is None  # 0 in the file, where no graph was replayed
    assert (copy["kind"], copy["bytes"]) == ("copy", 4096)
    marks = {row["name"]: row for row in plain_rows(trace.table("marks"))}
    assert dict(marks["ProfilerStep"]["attributes"]) == {"step": "1"}
    assert "forward" in marks
    (event,) = plain_rows(trace.table("host_events"))
    assert event["kind"] == "synchronize"
    stacks = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    assert [(f["file"], f["line"], f["function"]) for f in stacks[gemm["stack_id"]]] == [
        (None, None, "aten::mm"),
        ("torch/nn/modules/module.py", 5, "forward"),
        ("train.py", 12, "step"),
    ]
    (kernel,) = plain_rows(trace.table("kernels"))
    assert (kernel["name"], kernel["origin"], kernel["signature"]) == ("added", "imported", None)
    assert trace.table("launches").num_rows == 2


def test_kernels_of_imported_times_are_unknown(tmp_path, capsys):
    out = tmp_path / "out"
    import_files([write_kineto(tmp_path)], out)
    capsys.readouterr()
    for command in (["sanitize", "--blocks"], ["sanitize"], ["replay"]):
        assert main([*command, str(out)]) == 2
        said = capsys.readouterr()
        assert ("added cannot be judged" in said.out) == (command[0] == "sanitize")
        assert "has times and no IR, so there is nothing to evaluate or judge" in said.err
    assert main(["sanitize", "--json", str(out)]) == 2
    (finding,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (finding["kernel"], finding["verdict"], finding["launches"]) == ("added", "unknown", 2)
    assert main(["sanitize", "--strict", str(out)]) == 2  # nothing was proven
    assert not open_trace(out).passes(open_trace(out).runs[0].run_id)


def test_kernels_of_unknown_libraries_are_labeled_custom(tmp_path, capsys):
    out = tmp_path / "out"
    import_files([write_kineto(tmp_path)], out)
    trace = open_trace(out)
    profile = read_profile(trace, trace.runs, part=WHOLE)
    kinds = {row.name: row.kind for row in profile.device_time.rows}
    assert kinds["added"] == CUSTOM
    assert not profile.replay_helps
    assert "imported from kineto (added)" in profile.not_evaluated
    assert [kernel.name for kernel in profile.kernels] == ["added"]
    assert profile.kernels[0].measured.device_median_ns
    (kernel,) = read_overview(trace, trace.runs).kernels
    assert kernel.device_ns == profile.kernels[0].measured.device_ns
    report = report_data(trace, trace.runs, "title", "out/")
    named = dict(zip(report.device_names, report.device_kinds, strict=True))
    assert named["added"] == CUSTOM
    capsys.readouterr()
    for command in ("profile", "info"):
        assert main([command, str(out)]) == 0
        said = capsys.readouterr().out
        assert "custom" in said
        assert " Triton " not in said.replace("of Triton's", "")


def test_ranks_of_one_command_are_one_group(tmp_path):
    files = [write_kineto(tmp_path, rank=0), write_kineto(tmp_path, rank=1, packed=True)]
    import_files(files, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    assert [run.rank for run in trace.select()] == [0, 1]
    import_files(files[:1], tmp_path / "out")
    assert len(open_trace(tmp_path / "out").runs) == 3


def without_rank(path):
    content = json.loads(path.read_text())
    del content["distributedInfo"]
    path.write_text(json.dumps(content))
    return path


def test_name_of_a_file_says_the_rank_if_its_content_does_not(tmp_path, capsys):
    path = without_rank(write_kineto(tmp_path)).rename(tmp_path / "step_rank-12.pt.trace.json")
    (run,) = imported(path, tmp_path / "out").runs
    assert (run.rank, run.world_size) == (12, None)
    assert main(["info", str(tmp_path / "out")]) == 0
    assert ", rank 12\n" in capsys.readouterr().out


def test_two_files_of_one_rank_are_in_different_groups(tmp_path, capsys):
    files = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files += [write_kineto(tmp_path / name, rank=rank) for rank in (0, 1)]
    assert main(["import", *map(str, files), "-o", str(tmp_path / "out")]) == 0
    assert "2 groups, since there are several runs of the same rank" in capsys.readouterr().out
    ranks_by_group = {}
    for run in open_trace(tmp_path / "out").runs:
        ranks_by_group.setdefault(run.group_id, []).append(run.rank)
    assert list(ranks_by_group.values()) == [[0, 1], [0, 1]]


def test_old_absolute_timestamps_keep_their_precision(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(
        '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X", "cat": "kernel",'
        ' "name": "added", "ts": 1712345678901234.567, "dur": 1.123, "pid": 0, "tid": 7,'
        ' "args": {"device": 0}}]}'
    )
    (row,) = executions(imported(path, tmp_path / "out"))
    assert (row["start"], row["end"]) == (1712345678901234567, 1712345678901235690)


def test_tables_of_nsys_may_have_a_version_in_their_name(tmp_path):
    trace = imported(write_nsys_sqlite(tmp_path, "_V2"), tmp_path / "out")
    added, *_ = executions(trace)
    assert added["start"] == EPOCH_NS + 20_125
    assert (added["requested"], added["request_thread"]) == (EPOCH_NS + 10_000, 101)
    assert added["shared_bytes"] == 512
    assert trace.runs[0].pid == 100
    assert {row["name"] for row in plain_rows(trace.table("marks"))} == {"forward", "begun"}


def test_amd_grids_are_converted_to_blocks(tmp_path):
    _, write = WITH_TIMES["rocprofv3-json"]
    trace = imported(write(tmp_path), tmp_path / "out")
    rows = executions(trace)
    assert [row["grid_x"] for row in rows] == [8, 8, 8, None]
    assert rows[0]["device"] == 0
    assert rows[3]["name"] == "MEMORY_COPY_DEVICE_TO_HOST"
    assert trace.runs[0].devices[0]["name"] == "AMD Instinct MI300X"
    device = read_profile(trace, trace.runs, part=WHOLE).device
    assert (device.how, device.limits.name) == ("recorded", "MI300X")
    assert device.limits.source == "AMD Instinct MI300X data sheet"
    assert plain_rows(trace.table("marks"))[0]["name"] == "forward"


def test_imports_of_sums_have_no_busy_time(tmp_path, capsys):
    _, write = WITH_TIMES["proton-tree"]
    imported(write(tmp_path), tmp_path / "out")
    assert main(["profile", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "the times are sums" in shown
    assert "GPU busy" not in shown


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=(pytest.mark.sweep, *(m for m in [pytest.mark.smoke] if not n)))
        for n, kind in enumerate(("kineto", "rocprofv3-json", "proton-tree", "nsys-sqlite"))
    ],
)
def test_commands_accept_imported_traces(kind, tmp_path, capsys):
    _, write = WITH_TIMES[kind]
    out = tmp_path / "out"
    imported(write(tmp_path), out)
    for words in (
        ["info", out],
        ["profile", out],
        ["profile", out, "--by", "stack"],
        ["report", out, "-o", tmp_path / "r.html"],
        ["diff", out, out],
        ["fleet", out, "-o", tmp_path / "f.html"],
        ["convert", "perfetto", out, "-o", tmp_path / "p"],
        ["sql", out, "SELECT name, sum(device_ns) FROM executed GROUP BY ALL"],
        ["sanitize", out],
        ["trace", "validate", out],
    ):
        assert main([str(word) for word in words]) == (2 if words[0] == "sanitize" else 0), words
    assert "added" in capsys.readouterr().out


def bad(source, path, out):
    with pytest.raises((BadSource, BadSetting, TraceNotFound)) as found:
        import_files([path], out, source)
    assert "\n" not in str(found.value)
    assert not out.exists()
    assert [each for each in out.parent.iterdir() if each.name.startswith(".")] == []
    return str(found.value)


def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path, capsys):
    out = tmp_path / "out"
    cut = tmp_path / "cut.json"
    whole = write_kineto(tmp_path).read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    assert "ends too early" in bad("kineto", cut, out)
    cut.write_bytes(gzip.compress(whole)[:-20])
    assert "damaged" in bad("kineto", cut, out)
    assert "does not exist" in bad(None, tmp_path / "nothing", out)
    assert main(["import", "kinetto", str(cut), "-o", str(out)]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert "does not exist" in text
    plain = tmp_path / "plain.txt"
    plain.write_text("hello")
    assert all(name in bad(None, plain, out) for name in importer_names())
    with pytest.raises(BadSetting, match="did you mean 'kineto'"):
        import_files([plain], out, "kinetto")


def test_a_bad_file_among_good_ones_leaves_the_trace_as_it_was(tmp_path):
    out = tmp_path / "out"
    good, cut = write_kineto(tmp_path), tmp_path / "cut.json"
    import_files([good], out)
    before = sorted(path for path in out.rglob("*"))
    cut.write_bytes(good.read_bytes()[:-200])
    with pytest.raises(BadSource):
        import_files([good, cut], out, "kineto")
    assert sorted(path for path in out.rglob("*")) == before


@pytest.mark.parametrize("kind", WITH_TIMES)
@settings(max_examples=usually(8, thorough=400), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_files_are_imported_or_refused_in_one_sentence(kind, seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutated")
    source, write = WITH_TIMES[kind]
    (folder / "sound").mkdir()
    path, _ = mutate_file(write(folder / "sound"), folder, random.Random(seed))
    out = folder / "out"
    try:
        import_files([path], out, source)
    except KvtraceError as error:
        told = str(error)
        assert not out.exists()
        assert "\n" not in told
    else:
        assert open_trace(out).runs
    assert not list(folder.glob(".*"))
