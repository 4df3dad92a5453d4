"""Tensor graphs as texts that can be compared: StableHLO without places."""

from typing import TYPE_CHECKING, Final

from kvtrace.addons.graphs.rows import read_graphs
from kvtrace.addons.graphs.stablehlo.text import recorded_module_text
from kvtrace.converters.diff.added import DiffAddition, EarlierStage

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


def graph_texts(selection: "Selection") -> dict[tuple[str, int], str]:
    """Return the text of each graph, by its run and its kernel's id.

    A large constant is represented by the hash of its bytes.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    graphs = read_graphs(selection, meaning_only=True)
    return {key: recorded_module_text(rows) for key, rows in graphs.items()}


DIFF: Final = DiffAddition(stages={"stablehlo": EarlierStage("StableHLO", graph_texts)})
