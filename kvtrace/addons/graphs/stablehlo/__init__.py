"""Graphs as StableHLO text: rows of `graph_ops` in, MLIR out.

`module_text.py` writes modules and constants, `attributes.py` types, and the attributes and regions
of each opcode. `converter.py` is `kvtrace convert stablehlo`.
"""
