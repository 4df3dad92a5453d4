"""`invariance/index`: outputs that the rule `not-invariant` judged; `invariance/<number>`: trees.

All is derived, from the IR of recorded launches, and was written by the pass that judged them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kvtrace.addons.invariance.findings import TREES
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import OF_RUNS

__all__ = ["SOURCE", "InvarianceRow", "InvarianceTrees"]

_PASS: Final = f"{OF_RUNS}invariance"
_Calls = Mapping[tuple[int, int], int]
_ORDER: Final = {"violation": 0, "unknown": 1, "proven": 2}


@dataclass(frozen=True, slots=True)
class InvarianceRow:
    """An output and its verdict; `number` names the block of its trees."""

    number: int
    run: int
    call: int | None
    """Index into `Report.calls`: a call of the kernel."""
    kernel: str
    output: str | None
    over: str
    contract: int | None
    """The line that asks for it; null: the rule was asked for by its name."""
    verdict: str
    text: str
    relation: str | None
    """How trees of recorded sizes of the batch relate: same, equal, reassociated or different."""
    trees: int
    element: int | None
    """The element of the row to which the evaluator gives two values, each with its launch."""
    launches: tuple[str, str] | None
    values: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class InvarianceNode:
    """A node of a tree: what it says, and its parts with what each is to it."""

    kind: str
    text: str
    stack: int | None
    """Index into `Report.stacks`."""
    parts: tuple[int, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InvarianceTree:
    """The tree of an element at some sizes of the batch; `root` is a node."""

    root: int
    call: int | None
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InvarianceTrees:
    """The trees of an output, which share nodes; `left_out`: how many more there are."""

    nodes: tuple[InvarianceNode, ...]
    trees: tuple[InvarianceTree, ...]
    left_out: int


def _blocks(context: Context) -> Iterable[Block]:
    if not context.source:
        return
    calls = {(call.run, call.call_id): place for place, call in enumerate(context.report.calls)}
    judged = [each for run in range(len(context.runs)) for each in _judged(context, run, calls)]
    judged.sort(key=lambda pair: _ORDER.get(pair[0].verdict, 1))
    rows = [replace(row, number=number) for number, (row, _) in enumerate(judged)]
    if rows:
        yield Block("invariance/index", lambda: json_block(rows))
    for row, (_, trees) in zip(rows, judged, strict=True):
        if row.trees:
            yield Block(f"invariance/{row.number}", partial(json_block, trees))


def _judged(
    context: Context, run: int, calls: _Calls
) -> list[tuple[InvarianceRow, InvarianceTrees]]:
    """Return what the pass kept of each output that it judged in a run."""
    passes = context.trace.passes(context.runs[run].run_id)
    try:
        content = context.trace.artifact(passes.get(_PASS, {}).get("artifacts", {}).get(TREES))
        kept = json.loads(content or b"[]")
        return [(_row(run, each, calls), _trees(context, run, each, calls)) for each in kept]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"the trees that the pass {_PASS} kept cannot be read; run kvtrace sanitize again"
        ) from error


def _row(run: int, each: Mapping[str, Any], calls: _Calls) -> InvarianceRow:
    witness = each.get("witness")
    return InvarianceRow(
        number=0,
        run=run,
        call=calls.get((run, each["call_id"])),
        kernel=each["kernel"],
        output=each["output"],
        over=each["over"],
        contract=each["line"],
        verdict=str(each["verdict"]),
        text=each["text"],
        relation=each.get("relation"),
        trees=len(each["drawing"]["trees"]) if "drawing" in each else 0,
        element=witness and witness["element"],
        launches=witness and (witness["first"], witness["second"]),
        values=witness and tuple(witness["values"]),
    )


def _trees(context: Context, run: int, each: Mapping[str, Any], calls: _Calls) -> InvarianceTrees:
    drawing = each.get("drawing", {"nodes": (), "trees": (), "left_out": 0})
    nodes = tuple(
        InvarianceNode(
            node["kind"], node["text"], context.stack(node["stack"]), tuple(node["parts"]),
            tuple(node["roles"]),
        )
        for node in drawing["nodes"]
    )  # fmt: skip
    trees = tuple(
        InvarianceTree(tree["root"], calls.get((run, tree["call_id"])), tuple(tree["rows"]))
        for tree in drawing["trees"]
    )
    return InvarianceTrees(nodes, trees, drawing["left_out"])


SOURCE: Final = BlockSource(
    name="invariance",
    order=35,
    share=0.25,
    noun="trees of outputs",
    query="FROM findings WHERE rule = 'not-invariant'",
    blocks=_blocks,
    types=(InvarianceRow, InvarianceTrees),
)
