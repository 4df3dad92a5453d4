"""`kvtrace convert stablehlo`: the tensor graphs of a trace as StableHLO."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.schema.trace import Selection


class StablehloConverter:
    """Writes graphs for tools of XLA's and MLIR's."""

    summary = "Traced NumPy graphs as StableHLO text"
    default_output = "graph.mlir"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the graphs."""
        reject_unknown_settings("stablehlo", settings, ("graph", "check"))
        raise NotImplementedError


CONVERTER: Final = StablehloConverter()
