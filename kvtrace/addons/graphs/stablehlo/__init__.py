"""Graphs as StableHLO text: rows of `graph_ops` in, MLIR out.

`module_text.py` writes modules and constants, `attributes.py` the attributes and regions of each
opcode, `types.py` types. `converter.py` is `kvtrace convert stablehlo`.
"""
