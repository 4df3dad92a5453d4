"""Tensor graphs in a profile: FLOPs, bytes and live memory of one run of each (docs/hlo.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.profile_model import ProfileSection
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import amount, columns, count, size


@dataclass(frozen=True, slots=True)
class GraphProfile:
    """One graph: a function traced for one signature.

    `boundary_bytes` are the bytes of inputs and outputs, `unfused_bytes` those that ops read and
    write, each by itself; an intensity is FLOPs per byte. `peak_live_bytes` is the most memory that
    is live at once.
    """

    run: str
    graph_id: int
    name: str
    ops: int
    flops: int
    boundary_bytes: int
    unfused_bytes: int
    peak_live_bytes: int
    intensity: float | None
    unfused_intensity: float | None


def read_graph_profiles(trace: Trace, runs: Sequence[Run]) -> tuple[GraphProfile, ...]:
    """Return the figures that were recorded with each graph of the runs, most FLOPs first."""
    table = trace.table("kernels", runs, columns=["kernel_id", "name", "origin", "options"])
    table = table.filter(pc.equal(table["origin"].cast(pa.string()), "numpy"))
    profiles = []
    for row in table.to_pylist(maps_as_pydicts="lossy"):
        options = row["options"] or {}
        if "graph_ops" not in options:
            continue
        flops, boundary_bytes, unfused_bytes = (
            int(options[name]) for name in ("graph_flops", "graph_boundary_bytes", "graph_bytes")
        )
        profiles.append(
            GraphProfile(
                run=row["run"],
                graph_id=row["kernel_id"],
                name=row["name"] or "",
                ops=int(options["graph_ops"]),
                flops=flops,
                boundary_bytes=boundary_bytes,
                unfused_bytes=unfused_bytes,
                peak_live_bytes=int(options["graph_peak_live_bytes"]),
                intensity=flops / boundary_bytes if boundary_bytes else None,
                unfused_intensity=flops / unfused_bytes if unfused_bytes else None,
            )
        )
    return tuple(sorted(profiles, key=lambda graph: -graph.flops))


def graphs_text(graphs: Sequence[GraphProfile], width: int) -> list[str]:
    """Return the lines of a terminal table of the graphs."""
    header = ("graph (derived)", "ops", "FLOP", "in and out", "unfused", "FLOP/byte", "peak live")
    rows = [
        (
            graph.name,
            count(graph.ops),
            amount(graph.flops),
            size(graph.boundary_bytes),
            size(graph.unfused_bytes),
            "-" if graph.intensity is None else f"{graph.intensity:.2f}",
            size(graph.peak_live_bytes),
        )
        for graph in graphs
    ]
    return columns(header, rows, width)


SECTION: Final = ProfileSection(read_graph_profiles, graphs_text)
