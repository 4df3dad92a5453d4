"""Graphs as StableHLO text: rows of `graph_ops` in, MLIR out.

`module_text.py` writes modules, `attributes.py` says how each opcode's attributes and regions are
written, `constants.py` and `types.py` write values and types. `converter.py` is `kvtrace convert
stablehlo`.
"""
