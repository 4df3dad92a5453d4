"""Tensor graphs as rows of `graph_ops`, between what records them and what shows them.

`rows.py` is the model, and reads a trace; `figures.py` counts bytes, FLOPs and live memory;
`stablehlo/` writes the text. An op has one opcode, StableHLO's name of it.
"""
