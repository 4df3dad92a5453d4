"""Recorded faults: kernel, line, launch, argument and cause, by the trace and the driver's dump."""

import functools
import json
import random
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.addons.fault.dump.reading import UnreadableDump
from kvtrace.addons.fault.dumps import explained
from kvtrace.addons.fault.texts import brief_text
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from tests.addons.fault.recorded import DUMPS, FAULTS, mutated, with_exception

#: By trace: kernel, line, argument, part of the cause, and the launch's phase.
FOUND = {
    "gather_index_graph": ("gather", 42, "x", "what index held", "graph_capture"),
    "int32_wrap_eager": ("scale_rows", 56, "x", "row * stride wraps around", "run"),
    "liger_embedding_graph": (
        "embedding_forward_kernel", 31, "embeddings_ptr", "indices_ptr", "graph_capture",
    ),
    "compiled_scatter_eager": (
        "triton_poi_fused_add_index_put_1", 32, "out_ptr0", "what in_ptr0 held", "run",
    ),
    "compiled_assert_graph": (
        "triton_poi_fused_index_mul_0", 29, None, "assertion did not hold", "graph_capture",
    ),
    "freed_graph": ("doubled", 74, "x", "was freed", "graph_capture"),
    "paged_stride_graph": ("paged", 124, "cache", "stride_page = 2,147,483,648", "graph_capture"),
    "stale_length_graph": ("fill", 63, "out", "past the end of out", "graph_capture"),
    "assertion_eager": ("asserting", 96, None, "assertion did not hold", "run"),
    "trap_eager": ("trapping", 106, None, "", "run"),
}  # fmt: skip
#: Those whose calls are judged in less than a second.
QUICK = [name for name in FOUND if name != "stale_length_graph"]
COSTLY = pytest.mark.costly("judging its calls takes 3 s; those of ten other traces take less")


@functools.cache
def fault_of(name):
    """The fault of a trace, explained once for all tests that only read it."""
    (_, (fault,)) = explained(FAULTS / name, None, None).dumps[0]
    return fault


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[COSTLY] * (name not in QUICK)) for name in FOUND]
)
def test_recorded_fault_is_named(name):
    kernel, line, argument, cause, phase = FOUND[name]
    fault = fault_of(name)
    assert (fault.kernel, fault.place.line) == (kernel, line)
    assert fault.match is not None
    assert fault.match.phase == phase
    assert (None if fault.argument is None else fault.argument.name) == argument
    assert cause in "; ".join(fault.causes)
    assert fault.exception


def test_index_that_was_too_large_is_in_the_registers():
    fault = fault_of("gather_index_graph")
    assert fault.argument.element == 1 << 40  # as the program set index[1000]
    assert fault.argument.elements == 4096
    assert (fault.warp.block, fault.thread.index) == ((3, 0, 0), (116, 0, 0))  # of lanes 232, 233
    assert fault.index_arguments == ("index",)


@COSTLY
def test_overwritten_parameters_are_not_believed():
    """The store ran on into the graph's own memory: all of its parameters are 1."""
    fault = fault_of("stale_length_graph")
    assert set(fault.grid.parameters) == {0, 1}
    assert not fault.match.fits
    assert fault.argument.element is None


def test_call_is_told_from_others_by_its_scalars():
    """The same kernel and grid were launched before with other scalars, without a fault."""
    fault = fault_of("int32_wrap_eager")
    scalars = {arg["name"]: arg["scalar"] for arg in fault.match.call["args"] if arg["scalar"]}
    assert (scalars["rows"], scalars["stride"]) == ("600000", "4096")
    assert fault.fitting == 1


def test_command_prints_the_source_line_with_a_caret(capsys):
    assert main(["fault", str(FAULTS / "gather_index_graph")]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].endswith("planted_faults.py:42:35: illegal address, in kernel gather")
    source, caret = lines[2], lines[3]
    assert source[caret.index("^") :].startswith("x + rows")
    assert any("captured into a graph" in line for line in lines)


def test_json_has_the_same(capsys):
    assert main(["fault", str(FAULTS / "paged_stride_graph"), "--json"]) == 1
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert (fault["kernel"], fault["argument"], fault["access"]) == ("paged", "cache", "load")
    assert fault["address"] > 0
    assert fault["parameters_fit"] is True


def test_brief_text_has_at_most_five_lines():
    for name in QUICK:
        lines = list(brief_text([fault_of(name)]))
        assert 1 <= len(lines) <= 5
        assert FOUND[name][0] in lines[0]


@COSTLY
def test_brief_text_of_many_calls_has_at_most_five_lines():
    lines = list(brief_text([fault_of("stale_length_graph")]))
    assert 1 <= len(lines) <= 5
    assert FOUND["stale_length_graph"][0] in lines[0]


def test_a_newer_dump_of_another_process_is_not_taken_for_its_own(tmp_path):
    """Several processes on one GPU, which die one after the other."""
    out, names = tmp_path / "out", ("deadlock_eager", "barrier_graph")
    runs = {}
    for name in names:
        shutil.copytree(FAULTS / name, out, dirs_exist_ok=True)
        (runs[name],) = open_trace(FAULTS / name).runs
        pid = runs[name].pid
        shutil.move(out / "faults" / "host.1.nvcudmp", out / "faults" / f"host.{pid}.nvcudmp")
    assert len({run.pid for run in runs.values()}) == 2
    for name in names:
        found = explained(out, runs[name].run_id, None, newest=True)
        assert [process.name for process in found.processes] == [f"host.{runs[name].pid}"]
        (fault,) = found.processes[0].faults
        assert fault.kernel == fault_of(name).kernel


def test_dump_alone_says_what_it_can(capsys):
    assert main(["fault", str(DUMPS / "gather.nvcudmp")]) == 1
    text = capsys.readouterr().out
    assert "faulty.py:10: illegal address, in kernel gather" in text
    assert "no recorded call" in text


def test_kernel_that_hangs_is_no_fault(capsys):
    assert main(["fault", str(DUMPS / "spinning.nvcudmp")]) == 0
    assert "faulty.py:32: on the device when the dump was written" in capsys.readouterr().out


def test_trace_without_a_dump_says_how_to_get_one(tmp_path, capsys):
    shutil.copytree(FAULTS / "gather_index_graph", tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "faults")
    assert main(["fault", str(tmp_path / "out")]) == 0
    assert "KVTRACE_FAULTS=on" in capsys.readouterr().out


def test_other_trace_knows_no_call_of_the_dump(capsys):
    (dump,) = (FAULTS / "paged_stride_graph" / "faults").iterdir()
    assert main(["fault", str(FAULTS / "gather_index_graph"), "--dump", str(dump)]) == 1
    text = capsys.readouterr().out
    assert "in kernel paged" in text
    assert "no recorded call" in text


def test_stack_overflow_is_not_explained_by_the_line_that_it_hit(tmp_path, capsys):
    """The same dump of a gather, with another exception: its index has nothing to do with it."""
    (dump,) = (FAULTS / "gather_index_graph" / "faults").iterdir()
    file = tmp_path / "core"
    file.write_bytes(with_exception(dump.read_bytes(), 2))
    assert main(["fault", str(FAULTS / "gather_index_graph"), "--dump", str(file)]) == 1
    text = capsys.readouterr().out
    assert ":42:35: stack overflow, in kernel gather" in text
    assert "need more stack" in text
    assert "  launch    call 0" in text
    assert "argument  " not in text
    assert "index held" not in text


#: By trace: part of the advice.
ADVICE = {
    "gather_index_graph": "check what index holds",
    "int32_wrap_eager": "widen an operand with .to(tl.int64)",
    "stale_length_graph": "narrow the mask, or pass the size that out has",
    "freed_graph": "keep x alive",
    "assertion_eager": "check on the host what the condition is about",
    "trap_eager": "inline assembly",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[COSTLY] * (name not in QUICK)) for name in ADVICE]
)
def test_fault_says_what_to_do(name):
    fault = fault_of(name)
    assert ADVICE[name] in fault.advice


@pytest.mark.parametrize("name", [*QUICK, "deadlock_eager", "barrier_graph"])
def test_printed_repro_command_writes_a_script(name, tmp_path, monkeypatch, capsys):
    shutil.copytree(FAULTS / name, tmp_path / "out folder")
    monkeypatch.chdir(tmp_path)
    main(["fault", "out folder"])
    commands = [
        line.split(maxsplit=1)[1]
        for line in capsys.readouterr().out.split("\n")
        if line.startswith("  run ")
    ]
    program, *arguments = shlex.split(commands[0])
    assert (program, main(arguments)) == ("kvtrace", 0)
    compile(Path("repro.py").read_text(encoding="utf-8"), "repro.py", "exec")
    assert all(command.endswith(" python repro.py") for command in commands[1:])


def test_run_of_a_trace_can_be_named_in_its_path(capsys):
    (run,) = open_trace(FAULTS / "gather_index_graph").runs
    assert main(["fault", str(FAULTS / "gather_index_graph" / run.run_id)]) == 1
    assert "illegal address, in kernel gather" in capsys.readouterr().out


def test_trace_of_an_amd_gpu_says_what_can_be_had(tmp_path, capsys):
    out = shutil.copytree(FAULTS / "gather_index_graph", tmp_path / "out")
    shutil.rmtree(out / "faults")
    (file,) = out.glob("kernels/*/*.parquet")
    rows = pq.read_table(file)
    place = rows.schema.get_field_index("target")
    targets = pa.array(["hip:gfx942"] * len(rows)).cast(rows.schema.field(place).type)
    pq.write_table(rows.set_column(place, "target", targets), file)
    assert main(["fault", str(out)]) == 0
    text = capsys.readouterr().out
    assert "AMD GPU" in text
    assert f"kvtrace sanitize {out}" in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"\x7fELF and nothing"])
def test_damaged_dump_gets_one_sentence(content, tmp_path, capsys):
    file = tmp_path / "core"
    file.write_bytes(content)
    assert main(["fault", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be read as a GPU core dump" in error


@pytest.mark.sweep
@pytest.mark.usefixtures("one_more_gibibyte")
def test_damaged_dump_of_a_trace_is_explained_or_refused(tmp_path):
    """With the trace, whatever a damaged dump says of kernel, grid, parameters and registers."""
    wholes = {name: next((FAULTS / name / "faults").iterdir()).read_bytes() for name in QUICK}
    choose = random.Random(57)
    file = tmp_path / "core"
    outcomes = Counter()
    for _ in range(60):
        name = choose.choice(QUICK)
        file.write_bytes(mutated(wholes[name], choose))
        try:
            lines = list(explained(FAULTS / name, None, file).text())
        except UnreadableDump:
            outcomes["refused"] += 1
        else:
            outcomes["explained"] += any("in kernel" in line for line in lines)
    assert outcomes["refused"]
    assert outcomes["explained"]


@pytest.mark.parametrize(
    ("name", "kernel", "line", "waits_for"),
    [
        ("deadlock_eager", "deadlocked", 142, "a value of locks, which it reads by an atomic"),
        ("barrier_graph", "half_barrier", 152, "other threads of its program, at a barrier"),
    ],
)
def test_kernel_that_hangs_says_what_it_waits_for(name, kernel, line, waits_for):
    """Dumps that `kvtrace fault --now` asked for."""
    fault = fault_of(name)
    assert (fault.kernel, fault.place.line, fault.waits_for) == (kernel, line, waits_for)
    assert (fault.exception, fault.causes) == ("", ())
    assert fault.match is not None


def test_process_of_an_older_group_is_found(tmp_path):
    """Two jobs recorded into one folder; the one that failed began first."""
    for name in ("gather_index_graph", "paged_stride_graph"):
        shutil.copytree(FAULTS / name, tmp_path / "out", dirs_exist_ok=True)
        (dump,) = (tmp_path / "out" / "faults").glob("host.*")
        dump.rename(tmp_path / "out" / "faults" / f"{name}.nvcudmp")
    found = explained(tmp_path / "out", None, None).dumps
    named = {fault.kernel: fault.run_id for _, faults in found for fault in faults}
    assert named.keys() == {"gather", "paged"}
    assert all(named.values())
    assert len(set(named.values())) == 2


def test_ranks_that_launch_alike_are_told_apart_by_their_processes(tmp_path):
    """Two recordings of one program in one folder, as of two ranks; each has a dump."""
    folder = tmp_path / "out"
    shutil.copytree(FAULTS / "gather_index_graph", folder)
    (first,) = open_trace(folder).runs
    second = "20991231-000000-000-00000000"
    for part in list(folder.glob("*/run=*")):
        copy = part.with_name(f"run={second}")
        shutil.copytree(part, copy)
        if part.parent.name == "runs":
            (file,) = copy.iterdir()
            rows = pq.read_table(file)
            for column, value in (("run_id", second), ("pid", first.pid + 1)):
                values = pa.array([value], rows.schema.field(column).type)
                rows = rows.set_column(rows.schema.get_field_index(column), column, values)
            pq.write_table(rows, file)
    (dump,) = (folder / "faults").iterdir()
    shutil.copy(dump, folder / "faults" / f"host.{first.pid + 1}.nvcudmp")
    for process, run_id in ((first.pid, first.run_id), (first.pid + 1, second)):
        file = folder / "faults" / f"host.{process}.nvcudmp"
        if not file.exists():
            dump.rename(file)
        (_, (fault,)) = explained(folder, None, file).dumps[0]
        assert fault.run_id == run_id
