"""`invariance/index`: outputs that the rule `not-invariant` judged; `invariance/<number>`: trees.

All data are derived from the IR of recorded launches by the pass `kvtrace sanitize`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kvtrace.addons.invariance.findings import TREES, InvarianceNode
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
    """A judged output; `number` is in the name of the block with its trees."""

    number: int
    run: int
    call: int | None
    """Index into `Report.calls`: a call of the kernel."""
    kernel: str
    output: str | None
    over: str
    contract: int | None
    """The contract's line; null: no contract, the rule was selected by name."""
    verdict: str
    text: str
    relation: str | None
    """Relation of the trees of two batch sizes: same, equal, reassociated, exact or different."""
    trees: int
    element: int | None
    """The element of the row for which the evaluator found two values, in two launches."""
    launches: tuple[str, str] | None
    values: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class InvarianceTree:
    """The tree of an element at some batch sizes; `root` is the index of its node."""

    root: int
    call: int | None
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InvarianceTrees:
    """The trees of an output, which share nodes; `left_out` is the number of omitted trees."""

    nodes: tuple[InvarianceNode, ...]
    trees: tuple[InvarianceTree, ...]
    left_out: int


def _blocks(context: Context) -> Iterable[Block]:
    if not context.source:
        return
    calls = {(call.run, call.call_id): index for index, call in enumerate(context.report.calls)}
    judged = [
        pair_of_output
        for run in range(len(context.runs))
        for pair_of_output in _judged(context, run, calls)
    ]
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
    """Return (row, trees) of each output that the pass judged in a run."""
    passes = context.trace.passes(context.runs[run].run_id)
    try:
        content = context.trace.artifact(passes.get(_PASS, {}).get("artifacts", {}).get(TREES))
        outputs = json.loads(content or b"[]")
        return [
            (_row(run, output, calls), _trees(context, run, output, calls)) for output in outputs
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"the trees that the pass {_PASS} wrote cannot be read; run kvtrace sanitize again"
        ) from error


def _row(run: int, output: Mapping[str, Any], calls: _Calls) -> InvarianceRow:
    witness = output.get("witness")
    return InvarianceRow(
        number=0,
        run=run,
        call=calls.get((run, output["call_id"])),
        kernel=output["kernel"],
        output=output["output"],
        over=output["over"],
        contract=output["line"],
        verdict=str(output["verdict"]),
        text=output["text"],
        relation=output.get("relation"),
        trees=len(output["drawing"]["trees"]) if "drawing" in output else 0,
        element=witness and witness["element"],
        launches=witness and (witness["first"], witness["second"]),
        values=witness and tuple(witness["values"]),
    )


def _trees(context: Context, run: int, output: Mapping[str, Any], calls: _Calls) -> InvarianceTrees:
    drawing = output.get("drawing", {"nodes": (), "trees": (), "left_out": 0})
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
