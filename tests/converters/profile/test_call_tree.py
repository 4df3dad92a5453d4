"""Trees of where kernels are called from: their sums on programs recorded on a GPU."""

import json
import shutil
from collections import Counter
from pathlib import Path, PurePath

import duckdb
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.call_paths import GROUPINGS
from kvtrace.converters.profile.call_tree import (
    FIGURES,
    CallFigures,
    call_notes,
    call_sums,
    call_tree,
)
from kvtrace.converters.profile.call_tree_text import call_tree_text
from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.part_figures import PartFigures, open_figures
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.trace import open_trace
from kvtrace.text import display_width
from tests.converters.written_trace import Kernel, Launches, write_trace
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
PROGRAMS = ("llama", "llama_graphs", "decoding", "llama_ranks", "train", "train_compiled")


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    trace = open_trace(FIXTURES / request.param)
    return read_profile(trace, trace.runs), call_sums(open_figures(trace, trace.runs))


def leaves(branch):
    if not branch.branches:
        yield branch
    for each in branch.branches:
        yield from leaves(each)


def found(branch, *labels):
    for label in labels:
        (branch,) = [each for each in branch.branches if each.step.label == label]
    return branch


@pytest.mark.parametrize("grouping", some(list(GROUPINGS), 4))
def test_leaves_add_up_to_total_device_time_and_compile_time(program, grouping):
    profile, sums = program
    root = call_tree(sums, grouping)
    time = profile.device_time
    expected = {
        "device_ns": 0 if time is None else time.device_ns,
        "host_ns": sum(kernel.measured.host_ns or 0 for kernel in profile.kernels),
        "compile_ns": sum(kernel.compile_ns or 0 for kernel in profile.kernels),
        "runs": sum(kernel.runs for kernel in profile.kernels)
        + sum(row.executions for row in (time.rows if time else ()) if row.kind != "Triton"),
        "bytes": 0,
        "forward_ns": root.figures.forward_ns,
        "backward_ns": root.figures.backward_ns,
    }
    assert root.figures.forward_ns + root.figures.backward_ns <= root.figures.device_ns
    assert {name: getattr(root.figures, name) for name in FIGURES} == expected
    total = CallFigures()
    for leaf in leaves(root):
        total += leaf.figures
    assert total == root.figures
    assert ("device_ns" in sums.known) == (time is not None)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_leaves_of_one_name_add_up_to_its_row(program, grouping):
    profile, sums = program
    ours = Counter()
    for leaf in leaves(call_tree(sums, grouping)):
        ours[leaf.step.label] += leaf.figures.compile_ns
    expected = Counter()
    for kernel in profile.kernels:
        expected[kernel.name] += kernel.compile_ns or 0
    assert +ours == +expected


def test_operators_and_modules_of_a_compiled_llama_are_named_and_its_stacks_lead_to_the_model():
    trace = open_trace(FIXTURES / "llama")
    sums = call_sums(open_figures(trace, trace.runs))
    ops = {each.step.label for each in call_tree(sums, "op").branches}
    softmax = "_log_softmax, _to_copy, prims.prepare_softmax_online"
    assert {"_unsafe_view, mul, silu", softmax} <= ops
    stack = call_tree(sums, "stack")
    model = found(
        stack, "<module> llama.py:140", "main llama.py:129", "main.step llama.py:123",
        "Llama.forward llama.py:96",
    )  # fmt: skip
    assert {leaf.step.kernel is not None for leaf in model.branches} == {True}
    libraries = found(stack, "library kernels (cuBLAS, cuDNN, torch)")
    assert [each.step.label for each in libraries.branches][:3] == ["cuBLAS", "cuDNN", "torch"]
    blocks = found(call_tree(sums, "module"), "Llama", "blocks", "*")
    parts = {each.step.label: each.figures for each in blocks.branches}
    assert {"feed", "attention", "attention_norm"} <= parts.keys()
    feed = parts["feed"]
    assert (feed.forward_ns > 0, feed.backward_ns > 0) == (True, True)
    assert feed.forward_ns + feed.backward_ns == feed.device_ns
    files = call_tree(sums, "source").branches
    assert "llama.py:64 forward" in {line.step.label for file in files for line in file.branches}
    assert (sums.generated, sums.with_operators, sums.with_lines) == (36, 36, 36)
    assert len(call_notes(sums, "op")) == 1


def test_operators_that_were_not_recorded_are_read_from_names():
    trace = open_trace(FIXTURES / "llama_graphs")
    sums = call_sums(open_figures(trace, trace.runs))
    ops = {each.step.label for each in call_tree(sums, "op").branches}
    assert {"_unsafe_view_mul_silu", "_log_softmax__to_copy_prepare_softmax_online"} <= ops
    assert (sums.generated, sums.with_operators, sums.with_lines) == (26, 0, 0)
    assert "Of 26 kernels that Inductor generated, 0 are" in call_notes(sums, "op")[1]


def test_modules_of_an_eager_program_are_classes_inside_classes():
    trace = open_trace(FIXTURES / "train")
    tree = call_tree(call_sums(open_figures(trace, trace.runs)), "module")
    block = found(tree, "Transformer", "Sequential", "Block")
    assert {each.step.label for each in block.branches} >= {"Norm", "Projection"}
    (backward,) = (
        branch for branch in tree.branches
        if any(leaf.step.label == "attention_backward_query" for leaf in leaves(branch))
    )  # fmt: skip
    assert backward.step.label.endswith("backward()")


def test_nearly_all_time_of_libraries_has_a_module_or_a_function_of_the_program():
    # given a compiled model with an optimizer of torch's, recorded with stacks of all that ran
    trace = open_trace(FIXTURES / "llama_steady")
    sums = call_sums(open_figures(trace, trace.runs))
    tree = call_tree(sums, "module")
    taken = {branch.step.label: branch.figures.device_ns for branch in tree.branches}
    assert len(taken) == len(tree.branches)
    # then what no Python asked for is little, and named
    nowhere = {
        "autograd backward (no Python stack)", "in no module (backward, by autograd)",
        "library kernels (cuBLAS, cuDNN, torch)", "module not recorded",
    }  # fmt: skip
    assert sum(ns for label, ns in taken.items() if label not in nowhere) > 0.97 * sum(
        taken.values()
    )
    assert {"LlamaDecoderLayer", "optimizer Adam"} <= taken.keys()
    # and libraries' kernels stand at lines of the model, as Triton's do
    files = {branch.step.label: branch for branch in call_tree(sums, "source").branches}
    leaf = max(leaves(files["modeling_llama.py"]), key=lambda leaf: leaf.figures.device_ns)
    assert leaf.step.label.startswith(("cudnn", "nvjet"))
    # and a library's kernel that no module calls has the line of its caller
    time = PartFigures(trace, trace.runs).device_time
    rows = {row.kind: row for row in reversed(time.rows)}
    assert (PurePath(rows["cuBLAS"].file).suffix, rows["cuBLAS"].line > 0) == (".py", True)


def test_attention_s_backward_is_in_attention_and_not_in_the_projection_behind_it():
    # given a compiled model whose graphs break inside of attention
    trace = open_trace(FIXTURES / "llama_steady")
    sums = call_sums(open_figures(trace, trace.runs, WHOLE))
    attention = found(call_tree(sums, "module"), "LlamaDecoderLayer", "LlamaAttention")
    # then cuDNN's kernels of both passes are its own, each with the time that its files have
    for kernel, figure in (("flash_bprop", "backward_ns"), ("flash_fprop", "forward_ns")):
        ((expected,),) = duckdb.execute(
            'SELECT sum(epoch_ns("end") - epoch_ns(start)) FROM read_parquet(?) WHERE name LIKE ?',
            [str(FIXTURES / "llama_steady" / "gpu_kernels" / "*" / "*.parquet"), f"%{kernel}%"],
        ).fetchall()
        own = [leaf.figures for leaf in attention.branches if kernel in leaf.step.label]
        assert sum(getattr(figures, figure) for figures in own) == expected > 0
        assert sum(figures.device_ns for figures in own) == expected
    projection = found(attention, "o_proj")
    assert not any("flash" in leaf.step.label for leaf in leaves(projection))


def test_sums_of_a_module_are_those_of_the_modules_inside_and_of_its_own_kernels():
    trace = open_trace(FIXTURES / "llama_steady")
    pending = [call_tree(call_sums(open_figures(trace, trace.runs)), "module")]
    while pending:
        branch = pending.pop()
        pending += branch.branches
        if branch.branches:
            assert sum((each.figures for each in branch.branches), CallFigures()) == branch.figures


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("llama", "75.7 % of the time, 21.3 ms, has no module: this trace does not say who asked"),
        ("llama_graphs", "15.0 % of the time, 3.81 ms, has no module: Inductor took the code from"),
        ("llama_steady", "2.7 % of the time, 17.9 ms, has no module: autograd asked for them in"),
    ],
)
def test_time_without_module_is_said_with_its_reason_and_a_remedy(program, sentence):
    trace = open_trace(FIXTURES / program)
    sums = call_sums(open_figures(trace, trace.runs))
    notes = call_notes(sums, "module")
    (note,) = [note for note in notes if note.startswith(sentence)]
    assert "record " in note
    assert not any("has no module" in note for note in call_notes(sums, "stack"))


def test_bytes_equal_those_of_the_profile_after_replay(tmp_path):
    out = tmp_path / "out"
    shutil.copytree(FIXTURES / "train", out)
    assert main(["replay", str(out)]) == 0
    trace = open_trace(out)
    sums = call_sums(open_figures(trace, trace.runs))
    profile = read_profile(trace, trace.runs)
    assert "bytes" in sums.known
    moved = sum(kernel.derived.bytes or 0 for kernel in profile.kernels)
    assert call_tree(sums, "stack").figures.bytes == moved > 0
    assert any("bytes" in line for line in call_tree_text(sums, "stack")[:1])


def test_without_times_a_tree_is_of_runs_and_has_no_column_of_dashes(tmp_path):
    timed = write_trace(tmp_path / "timed", [Kernel(calls=(Launches(number=2),))])
    assert call_sums(open_figures(timed.trace, timed.runs)).cost == "host_ns"
    compiled = write_trace(tmp_path / "compiled", [Kernel()])  # its only launch compiled it
    sums = call_sums(open_figures(compiled.trace, compiled.runs))
    assert (sums.cost, sums.known) == ("runs", ("runs", "compile_ns"))
    header, *_ = call_tree_text(sums, "stack")
    assert header.split() == ["by", "call", "stack", "executions", "share", "compile"]


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("width", [80, 140])
def test_text_fits_the_terminal_and_shows_the_most_expensive_entries_first(
    program, grouping, width
):
    _, sums = program
    lines = call_tree_text(sums, grouping, width=width)
    assert max(map(display_width, lines)) <= width
    first = call_tree(sums, grouping).branches[0].step.label
    assert lines[1].strip().split(" > ")[0].startswith((first[:12], "…"))
    assert len(call_tree_text(sums, grouping, full=True, width=width)) >= len(lines) - 1


@pytest.mark.costly("the profile of a model; small trees stay by day")
def test_command_prints_a_tree_and_its_json_is_complete(capsys):
    trace = str(FIXTURES / "llama")
    assert main(["profile", trace, "--by", "module", "--no-replay"]) == 0
    assert capsys.readouterr().out.startswith("by module")
    assert main(["profile", trace, "--by", "op", "--json", "--no-replay"]) == 0
    by = json.loads(capsys.readouterr().out)["by"]
    assert by["grouping"] == "op"
    tree = by["tree"]
    assert tree["device_ns"] == sum(each["device_ns"] for each in tree["branches"])
    assert tree["bytes"] is None
    assert main(["profile", trace, "--by", "color"]) == 2
