"""The tensor graphs of a trace as StableHLO: the command's side of `kvtrace.graphs.stablehlo`."""

from kvtrace.converters.stablehlo.converter import CONVERTER

__all__ = ["CONVERTER"]
