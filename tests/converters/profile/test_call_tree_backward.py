"""Sums of modules in a trace that has the forward's stack of each execution in a backward."""

from pathlib import Path

import duckdb
import pytest

from kvtrace.converters.profile.call_tree import call_notes, call_sums, call_tree
from kvtrace.converters.profile.call_tree_text import call_tree_text
from kvtrace.figures.part_figures import open_figures
from kvtrace.schema.content import stack_row
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter

CALL = "Module._call_impl"
START = 1_767_323_045_000_000_000


def stack(*functions):
    return stack_row([("m.py", 3, 1, function) for function in functions])


NORM = stack("launch", "Norm.forward", CALL, "Block.forward", CALL, "main")
OTHER = stack("launch", "Norm.forward", CALL, "Head.forward", CALL, "main")
LINEAR = stack("linear", "Linear.forward", CALL, "Block.forward", CALL, "main")
BACKWARD = stack("norm.backward", "BackwardCFunction.apply")
ADAM = stack_row([("/x/torch/optim/adamw.py", 9, 1, "AdamW.step")])

#: Device time in µs, call (0: forward of a norm, 1: its backward), stack and forward's stack.
EXECUTIONS = (
    (10, 0, None, None), (11, 0, None, None), (100, 1, None, NORM), (20, 1, None, OTHER),
    (3, 1, None, None), (40, None, LINEAR, None), (80, None, None, LINEAR), (5, None, None, None),
    (7, None, ADAM, None),
)  # fmt: skip


@pytest.fixture
def trace(tmp_path):
    writer = RunWriter(tmp_path / "out", "20260102T030405-0001")
    writer.append_rows("stacks", [NORM, OTHER, LINEAR, BACKWARD, ADAM])
    calls = ((0, "norm", NORM), (1, "norm_backward", BACKWARD))
    writer.append_rows(
        "kernels",
        [{"kernel_id": i, "name": name, "module": "m", "compile_ns": 9} for i, name, _ in calls],
    )
    writer.append_rows(
        "calls",
        [{"call_id": i, "kernel_id": i, "stack_id": of["stack_id"]} for i, _, of in calls],
    )
    launches, executions = [], []
    for record, (us, call, asked, forward) in enumerate(EXECUTIONS):
        begin = START + record * 1_000_000
        row = {"record": record, "start": begin, "end": begin + us * 1_000, "name": "gemm"}
        if call is not None:
            launch = {"seq": record, "call_id": call, "enter": begin - 2_000, "exit": begin - 1_000}
            launches.append({**launch, "thread": 1, "phase": "run"})
            row |= {"launch_seq": record, "call_id": call, "name": calls[call][1]}
        else:
            row |= {"requested": begin - 1_000, "stack_id": asked and asked["stack_id"]}
        executions.append(row | {"forward_stack_id": forward and forward["stack_id"]})
    for table, rows in (("launches", launches), ("gpu_kernels", executions)):
        names = dict.fromkeys(name for row in rows for name in row)
        writer.append(table, {name: [row.get(name) for row in rows] for name in names})
    writer.seal({"ending": "exit"})
    assert validate(tmp_path / "out") == []
    return open_trace(tmp_path / "out")


def figures(branch, *labels):
    for label in labels:
        (branch,) = (each for each in branch.branches if each.step.label == label)
    return branch.figures


def passes(branch, *labels):
    of = figures(branch, *labels)
    return of.forward_ns // 1_000, of.backward_ns // 1_000, of.device_ns // 1_000, of.runs


def test_executions_of_one_call_are_divided_by_the_module_of_their_forward(trace):
    tree = call_tree(call_sums(open_figures(trace, trace.runs)), "module")
    assert passes(tree, "Block", "Norm") == (21, 100, 121, 3)
    assert passes(tree, "Head", "Norm") == (0, 20, 20, 1)
    assert passes(tree, "Block", "Linear") == (40, 80, 120, 2)
    assert passes(tree, "Block") == (61, 180, 241, 5)
    assert passes(tree, "norm.backward()") == (0, 3, 3, 1)
    assert passes(tree, "autograd backward (no Python stack)") == (0, 5, 5, 1)
    assert passes(tree, "optimizer AdamW") == (0, 0, 7, 1)


def test_sums_of_a_module_are_those_that_sql_adds_up_over_the_files(trace):
    tree = call_tree(call_sums(open_figures(trace, trace.runs)), "module")
    folder = Path(trace.path)
    rows = duckdb.execute(
        """
        SELECT g.forward_stack_id IS NOT NULL,
            sum(epoch_ns(g."end") - epoch_ns(g.start))
        FROM read_parquet(?) g LEFT JOIN read_parquet(?) c USING (call_id)
        JOIN read_parquet(?) s
            ON s.stack_id = coalesce(g.forward_stack_id, g.stack_id, c.stack_id)
        WHERE 'Block.forward' IN (SELECT unnest(s.frames).function)
        GROUP BY ALL ORDER BY ALL
        """,
        [str(folder / table / "*" / "*.parquet") for table in ("gpu_kernels", "calls", "stacks")],
    ).fetchall()
    assert rows == [(False, 61_000), (True, 180_000)]
    assert passes(tree, "Block")[:3] == (61, 180, 241)


def test_figures_of_whole_calls_stand_at_one_part_each(trace):
    root = call_tree(call_sums(open_figures(trace, trace.runs)), "module").figures
    assert (root.runs, root.device_ns, root.compile_ns) == (len(EXECUTIONS), 276_000, 18)
    assert root.host_ns == 5 * 1_000


def test_text_shows_both_passes_and_why_time_has_no_module(trace):
    sums = call_sums(open_figures(trace, trace.runs))
    lines = call_tree_text(sums, "module", full=True)
    assert lines[0].split() == ["by", "module", "forward", "backward", "sum", "share"]
    (block,) = (line.split() for line in lines if line.startswith("Block"))
    assert block == ["Block", "61.0", "µs", "180", "µs", "241", "µs", "87.3", "%"]
    (note,) = (note for note in call_notes(sums, "module") if "has no module" in note)
    assert note.startswith(
        "1.8 % of the time, 5 µs, has no module: autograd asked for them outside"
    )
