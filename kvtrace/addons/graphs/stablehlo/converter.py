"""`kvtrace convert stablehlo`: the tensor graphs of a trace as StableHLO.

Several graphs are written to one file, each a module, separated by lines of `// -----`, at which
MLIR's tools split their input. MLIR verifies them, through the bindings in jaxlib.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.graphs.rows import GraphOp, read_graphs
from kvtrace.addons.graphs.stablehlo.module_text import recorded_module_text
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.trace import Selection


class InvalidModule(KvtraceError):
    """A module that MLIR's verifier rejects: the trace is damaged, or kvtrace has a defect."""

    slug = "invalid-module"


def verify(text: str, name: str) -> None:
    """Parse a module's text with MLIR and verify it; `name` is the graph's name for errors.

    Raises:
        BadSetting: jaxlib is not installed, or has other bindings.
        InvalidModule: The module is not valid; the text has the verifier's message.

    """
    try:
        ir: Any = import_module("jaxlib.mlir.ir")
        dialect: Any = import_module("jaxlib.mlir.dialects.stablehlo")
        extension: Any = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    except ImportError as error:
        raise BadSetting(
            f"--set check=1 needs jaxlib's bindings of MLIR ({error}); "
            "install jaxlib, or leave it out."
        ) from None
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        dialect.register_dialect(context)
        try:
            ir.Module.parse(text).operation.verify()
        except ir.MLIRError as error:
            message = " ".join(str(error).split())
            raise InvalidModule(
                f"the module of {name} is not valid StableHLO: the trace is damaged, or kvtrace "
                f"has a defect; report this with MLIR's message: {message}"
            ) from None


Graph = tuple[str, int, str, Sequence[GraphOp]]


class StablehloConverter:
    """The converter that writes graphs for tools of XLA and MLIR."""

    summary = "Traced NumPy graphs as StableHLO text; one of them with --set graph=NAME"
    default_output = "graphs.mlir"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the graphs of the selected runs to one file.

        Raises:
            BadSetting: The trace has no graph, or no graph of that name; jaxlib is needed but
                missing; the output cannot be written.
            DamagedFile: The rows of a graph cannot be written as a module.
            InvalidModule: A module is not valid.

        """
        reject_unknown_settings("stablehlo", settings, ("graph", "check"))
        check = settings.get("check", "0")
        if check not in ("0", "1"):
            raise BadSetting(
                f"the setting check of the converter stablehlo is 0 or 1, not {check!r}."
            )
        graphs = _selected_graphs(_named_graphs(selection), settings.get("graph"))
        modules = [
            recorded_module_text(rows, name, _replica_count(rows)) for _, _, name, rows in graphs
        ]
        if check == "1":
            for module, (_, _, name, _) in zip(modules, graphs, strict=True):
                verify(module, name)
        texts = [
            f"// graph {graph_id} of run {run}: {name}\n{module}"
            for module, (run, graph_id, name, _) in zip(modules, graphs, strict=True)
        ]
        with whole_file(output) as file:
            file.write("// -----\n".join(texts).encode())
        op_count = sum(len(rows) for _, _, _, rows in graphs)
        verified = ", verified by jaxlib" if check == "1" else ""
        plural = "" if len(graphs) == 1 else "s"
        return Conversion((output,), (f"{len(graphs)} graph{plural}, {op_count:,} ops{verified}",))


CONVERTER: Final = StablehloConverter()


def _named_graphs(selection: Selection) -> list[Graph]:
    rows = selection.table("kernels", ["kernel_id", "name"]).to_pylist()
    names = {(row["run"], row["kernel_id"]): row["name"] for row in rows}
    return [
        (run, graph_id, names.get((run, graph_id)) or "graph", ops)
        for (run, graph_id), ops in sorted(read_graphs(selection).items())
    ]


def _selected_graphs(graphs: list[Graph], name_or_id: str | None) -> list[Graph]:
    if not graphs:
        raise BadSetting(
            "the trace has no tensor graphs; record a program whose functions are traced with "
            "kvtrace.hlo.trace."
        )
    if name_or_id is None:
        return graphs
    selected = [graph for graph in graphs if name_or_id in (graph[2], str(graph[1]))]
    if not selected:
        names = ", ".join(dict.fromkeys(name for _, _, name, _ in graphs))
        raise BadSetting(f"the trace has no graph {name_or_id!r}; it has {names}.")
    return selected


def _replica_count(rows: Sequence[GraphOp]) -> int:
    replica_count = 1
    for op in rows:
        for name in ("replica_groups", "source_target_pairs"):
            for group in op.attribute(name, ()):
                replica_count = max(replica_count, max(group, default=-1) + 1)
    return replica_count
