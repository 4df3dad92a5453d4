"""`kvtrace convert stablehlo`: the tensor graphs of a trace as StableHLO.

Several graphs go into one file, each a module, with lines of `// -----` between them, at which
MLIR's tools split their input.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kvtrace.addons.graphs.rows import GraphOp, read_graphs
from kvtrace.addons.graphs.stablehlo.module_text import recorded_module_text
from kvtrace.addons.graphs.stablehlo.verification import verify
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection

Graph = tuple[str, int, str, Sequence[GraphOp]]


class StablehloConverter:
    """Writes graphs for tools of XLA's and MLIR's."""

    summary = "Traced NumPy graphs as StableHLO text; one of them with --set graph=NAME"
    default_output = "graphs.mlir"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the graphs of the selected runs.

        Settings: `graph`, the name or id of the only one to write; `check` (1), to have each module
        verified by jaxlib's bindings before anything is written.

        Raises:
            BadSetting: no graph, or none of that name; jaxlib is asked for and not there; the
                output cannot be written.
            DamagedFile: the rows of a graph make no module.
            InvalidModule: a module is not valid.

        """
        reject_unknown_settings("stablehlo", settings, ("graph", "check"))
        check = settings.get("check", "0")
        if check not in ("0", "1"):
            raise BadSetting(
                f"the setting check of the converter stablehlo is 0 or 1, not {check!r}."
            )
        graphs = _chosen(_named_graphs(selection), settings.get("graph"))
        modules = [recorded_module_text(rows, name, _replicas(rows)) for _, _, name, rows in graphs]
        if check == "1":
            for module, (_, _, name, _) in zip(modules, graphs, strict=True):
                verify(module, name)
        texts = [
            f"// graph {graph_id} of run {run}: {name}\n{module}"
            for module, (run, graph_id, name, _) in zip(modules, graphs, strict=True)
        ]
        with whole_file(output) as file:
            file.write("// -----\n".join(texts).encode())
        count = sum(len(rows) for _, _, _, rows in graphs)
        verified = ", verified by jaxlib" if check == "1" else ""
        plural = "" if len(graphs) == 1 else "s"
        return Conversion((output,), (f"{len(graphs)} graph{plural}, {count:,} ops{verified}",))


CONVERTER: Final = StablehloConverter()


def _named_graphs(selection: Selection) -> list[Graph]:
    """Every graph with its run, id and name."""
    rows = selection.table("kernels", ["kernel_id", "name"]).to_pylist()
    names = {(row["run"], row["kernel_id"]): row["name"] for row in rows}
    return [
        (run, graph_id, names.get((run, graph_id)) or "graph", ops)
        for (run, graph_id), ops in sorted(read_graphs(selection).items())
    ]


def _chosen(graphs: list[Graph], wanted: str | None) -> list[Graph]:
    if not graphs:
        raise BadSetting(
            "the trace has no tensor graphs; record a program whose functions are traced with "
            "kvtrace.hlo.trace."
        )
    if wanted is None:
        return graphs
    found = [graph for graph in graphs if wanted in (graph[2], str(graph[1]))]
    if not found:
        known = ", ".join(dict.fromkeys(name for _, _, name, _ in graphs))
        raise BadSetting(f"the trace has no graph {wanted!r}; it has {known}.")
    return found


def _replicas(rows: Sequence[GraphOp]) -> int:
    """How many devices the collectives of a graph are for."""
    found = 1
    for op in rows:
        for name in ("replica_groups", "source_target_pairs"):
            for group in op.attribute(name, ()):
                found = max(found, max(group, default=-1) + 1)
    return found
