"""Trees as tables of nodes: what they say, where they come from, and how many are drawn."""

from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

from kvtrace.addons.invariance.batches import calls_by_tree, calls_of_most_sizes
from kvtrace.addons.invariance.findings import InvarianceNode
from kvtrace.addons.invariance.judged import Drawing, drawing_of
from kvtrace.addons.invariance.output_results import Invariance
from kvtrace.ir.stacks import StackRows
from tests.addons.invariance import contracted
from tests.addons.invariance.contracted import broken, kept, launch
from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.planted import PLANTED

Judged = Callable[[Callable[[], object]], Invariance]
COUNT = 14


@triton.jit
def wide(x, y, N, COUNT: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for outer in tl.static_range(COUNT):
        part = 0.0
        for inner in tl.static_range(COUNT):
            part += tl.load(x + row * N + outer * COUNT + inner)
        total += part
    tl.store(y + row, total)


@triton.jit
def looked_up(x, y, where, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.load(where + row) * N + at, mask=at < N, other=0.0)
    tl.store(y + row * N + at, tl.cumsum(value, 0), mask=at < N)


@triton.jit
def branched(x, y, kind, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0)
    if tl.load(kind + row) > 0.5:
        value = tl.exp(value)
    tl.store(y + row * N + at, value, mask=at < N)


def launch_wide() -> None:
    """Launch a kernel with more additions than are drawn."""
    for rows in (2, 3):
        x = tensor(rows, COUNT * COUNT, seed=1)
        wide[(rows,)](x, torch.empty(rows), COUNT * COUNT, COUNT=COUNT)


def outline(drawing: Drawing, tree: int) -> list[str]:
    """Return a tree as lines: its depth, what a node is to the one above, and what it says."""
    found = []

    def show(node: InvarianceNode, depth: int, role: str) -> None:
        found.append(f"{depth} {role}{': ' if role else ''}{node.text}")
        for place, part in enumerate(node.parts):
            own = node.roles[place] if place < len(node.roles) else ""
            show(drawing.nodes[part], depth + 1, own)

    show(drawing.nodes[drawing.trees[tree].root], 0, "")
    return found


def test_drawn_tree_has_loads_sums_loops_and_products(judged: Judged) -> None:
    pair = next(each for each in PLANTED if each.name == "product, BLOCK_K by M")
    (found,) = judged(lambda: [pair.launch(pair.wrong, rows) for rows in pair.sizes]).outputs

    drawing = drawing_of(found, StackRows())

    assert [tree.rows for tree in drawing.trees] == [(1,), (40,)]
    assert outline(drawing, 1) == [
        "0 out[0, i1]",
        "1 a loop of 8 trips, k0",
        "2 first: the number 0 (f32)",
        "2 each trip: a product of f32 × f32 over 32 elements, K is k1",
        "3 left: x[0, 32 * k0 + k1]",
        "3 right: w[32 * k0 + k1, i1]",
        "3 added to: value 0 of the loop over k0",
    ]


def test_loaded_integer_in_an_address_is_drawn_as_an_element(judged: Judged) -> None:
    def look_up() -> None:
        for rows in (3, 5):
            x, where = tensor(8, 20, seed=1), torch.arange(rows, dtype=torch.int32)
            looked_up[(rows,)](x, torch.empty(rows, 20), where, 20, BLOCK=32)

    (found,) = judged(look_up).outputs

    assert outline(drawing_of(found, StackRows()), 0)[:3] == [
        "0 y[i0, i1]",
        "1 scan by arith.addf over 32 elements, k0",
        "2 x[where[i0], k0]",
    ]


def test_operands_of_a_branch_have_roles(judged: Judged) -> None:
    def branch() -> None:
        for rows in (3, 5):
            x, kind = tensor(rows, 20, seed=1), tensor(rows, seed=2)
            branched[(rows,)](x, torch.empty(rows, 20), kind, 20, BLOCK=32)

    (found,) = judged(branch).outputs

    lines = outline(drawing_of(found, StackRows()), 0)
    assert {"2 then: math.exp (exp) to f32", "2 else: x[i0, i1]"} <= set(lines)
    assert any(line.startswith("2 if: arith.cmpf") for line in lines)


def test_drawn_nodes_have_source_lines_of_their_own_kernel(judged: Judged) -> None:
    """Both kernels load the same expression, which is one node for those that compare trees."""
    stacks = StackRows()
    outputs = judged(lambda: [launch(each, 3, 5) for each in (kept, broken)]).outputs
    drawn = {each.kernel: drawing_of(each, stacks) for each in outputs}
    frames = {row["stack_id"]: row["frames"] for row in stacks.rows()}
    source = Path(contracted.__file__).read_text().splitlines()

    for kernel in (kept, broken):
        first = kernel.fn.__code__.co_firstlineno
        own = range(first, first + len(kernel.src.splitlines()) + 1)
        nodes = drawn[kernel.fn.__name__].nodes
        for node in nodes:
            lines = [f["line"] for f in frames.get(node.stack, ()) if f["file"].endswith("ed.py")]
            assert all(line in own for line in lines), (kernel, node)
        (load,) = [node for node in nodes if node.text == "x[i0, i1]"]
        assert "tl.load(x" in source[frames[load.stack][0]["line"] - 1]


def test_drawing_does_not_depend_on_the_order_of_operands(judged: Judged) -> None:
    """Equal trees are one object, and so the order of a sum's operands is of a process."""
    (found,) = judged(launch_wide).outputs
    drawing = drawing_of(found, StackRows())
    sums = {
        node
        for tree in calls_by_tree(calls_of_most_sizes(found.compared_calls.values()))
        for node in tree.walk()
        if node.what == "op" and node.detail[0] == "arith.addf"
    }
    assert len(sums) > COUNT
    try:
        for node in sums:
            node.parts = node.parts[::-1]
        assert drawing_of(found, StackRows()) == drawing
    finally:
        for node in sums:
            node.parts = node.parts[::-1]


def test_large_tree_is_drawn_near_the_store_only(judged: Judged) -> None:
    (found,) = judged(launch_wide).outputs
    drawing = drawing_of(found, StackRows())

    cut = [node for node in drawing.nodes if node.kind == "cut"]
    assert cut
    assert 250 < len(drawing.nodes) - len(cut) <= 301  # with what stores it
