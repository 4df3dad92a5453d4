"""Bytes and sectors of accesses computed lane by lane, as a reference for the passes' counts."""

import itertools
import json

import numpy as np

from kvtrace.evaluate.observe import Observer
from kvtrace.metrics.of_ops import Metrics, facts_of
from kvtrace.schema.content import StackRows
from tests.kernels.launching import bind, compile_for, launch


def materialised(parts):
    """Byte offsets (programs, lanes) and which lanes are active."""
    shape = (len(parts.programs), *parts.block)
    offsets = np.full(shape, parts.constant, np.int64)
    for term in parts.terms:
        offsets = offsets + term
    active = np.ones(shape, bool)
    for factor in parts.factors:
        active = active & factor
    return offsets.reshape(shape[0], -1), active.reshape(shape[0], -1)


class LaneByLane(Observer):
    """Counts sectors, collects distinct bytes and every address, in plain Python sets."""

    def __init__(self):
        self.sectors = {}
        self.bytes = {}
        self.addresses = {}

    def access(self, access):
        if access.parts is None:
            return
        offsets, active = materialised(access.parts)
        origin = access.parts.origin_bytes
        seen = self.bytes.setdefault(access.op.index, set())
        addresses = self.addresses.setdefault(access.op.index, [])
        for row, on in zip(offsets.tolist(), active.tolist(), strict=True):
            for start in range(0, len(row), 32):
                group = [
                    byte + origin
                    for offset, use in zip(
                        row[start : start + 32], on[start : start + 32], strict=True
                    )
                    if use
                    for byte in range(offset, offset + access.element_bytes)
                ]
                sectors = len({byte // 32 for byte in group})
                self.sectors[access.op.index] = self.sectors.get(access.op.index, 0) + sectors
                seen.update(group)
            addresses += [offset for offset, use in zip(row, on, strict=True) if use]


def addresses_of(layout):
    """Every address that a layout of `accesses` stands for, as docs/accesses.md says."""
    form = json.loads(layout)
    starts = [form["base"]]
    for name in ("programs", "trips"):
        for count, _, step in form.get(name, [0, []])[1]:
            starts = [start + i * step for start in starts for i in range(count)]
    if "runs" in form:
        lanes = [
            first + t * by + i * step
            for first, count, step, times, by in form["runs"]
            for t in range(times)
            for i in range(count)
        ]
    else:
        strides = [stride for _, stride in form["lanes"]]
        extents = [extent for extent, _ in form["lanes"]]
        ranges = form.get("box") or [[0, extent] for extent in extents]
        lanes = [
            sum(i * s for i, s in zip(index, strides, strict=True))
            for index in itertools.product(*(range(low, high) for low, high in ranges))
        ]
        if "active" in form:
            lanes = [lane for a, n in form["active"] for lane in lanes[a : a + n]]
    return [start + lane for start in starts for lane in lanes]


def observed(function, grid, arguments, constexprs, **options):
    """Rows of `ops` and `accesses`, notes, and the lane-by-lane counts of the same evaluation."""
    facts = facts_of(compile_for(function, arguments, constexprs))
    metrics, brute = Metrics(facts=facts, arguments=bind(function, arguments)), LaneByLane()
    launch(function, grid, arguments, constexprs, observers=(metrics, brute), **options)
    names = [argument.name for argument in bind(function, arguments)]
    ops = metrics.op_rows(0, names, StackRows())
    return ops, metrics.access_rows(0, names), metrics.notes(), brute
