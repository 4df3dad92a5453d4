"""Tensor graphs as texts for comparison: StableHLO without locations."""

from typing import Final

from kvtrace.addons.graphs.rows import read_graphs
from kvtrace.addons.graphs.stablehlo.module_text import recorded_module_text
from kvtrace.converters.diff.added import EarlierStage
from kvtrace.schema.trace import Selection


def graph_texts(selection: Selection) -> dict[tuple[str, int], str]:
    """Return the StableHLO text of each graph, by run and kernel id.

    A large constant is written as the hash of its bytes.

    Raises:
        DamagedFile, NewerFormat: The trace cannot be read.

    """
    graphs = read_graphs(selection, meaning_only=True)
    return {key: recorded_module_text(rows) for key, rows in graphs.items()}


STAGE: Final = EarlierStage("StableHLO", graph_texts)
