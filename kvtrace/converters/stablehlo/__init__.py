"""Graphs as StableHLO text: rows of `graph_ops` in, MLIR out. May import the schema only.

`text.py` writes modules, `attributes.py` says how each opcode's attributes and regions are written,
`constants.py` and `types.py` write values and types, `converter.py` is the command's side of it.
"""

from kvtrace.converters.stablehlo.converter import CONVERTER

__all__ = ["CONVERTER"]
