"""Graphs as StableHLO text: rows of `graph_ops` in, MLIR out.

`module_text.py` writes modules, `attributes.py` the attributes and regions of each opcode,
`constants.py` and `types.py` values and types. `converter.py` is `kvtrace convert stablehlo`.
"""
