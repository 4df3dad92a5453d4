"""Locations that name others many times, or nest deeply, in all that reads them."""

import pytest

from kvtrace.converters.line_links import MAX_FRAMES, link_mlir
from kvtrace.ir.locations import MOST_PARTS, location_frames
from kvtrace.ir.parser import parse
from kvtrace.recorded_calls.compiled_code import _ALIAS, _locations

#: Each location names the next one twice: 2^60 paths. Or each is called at the one after it.
PAIRS = {
    "callsite": lambda n: f"callsite(#loc{n} at #loc{n})",
    "fused": lambda n: f"fused[#loc{n}, #loc{n}]",
    "mixed": lambda n: f"callsite(fused[#loc{n}, #loc{n}] at #loc{n})",
}


def defined(kind, count):
    """Lines that define #loc0 by `count` others; the last is a place in a file."""
    lines = [f"#loc{n} = loc({PAIRS[kind](n + 1)})" for n in range(count)]
    return [*lines, f'#loc{count} = loc("x.py":1:1)']


def chain(count):
    """Lines of `count` calls, each inlined at the next."""
    lines = [f"#loc{n} = loc(callsite(#place at #loc{n + 1}))" for n in range(count)]
    return ['#place = loc("x.py":2:1)', *lines, f'#loc{count} = loc("x.py":1:1)']


TEXTS = [*(defined(kind, 60) for kind in PAIRS), chain(50_000), list(reversed(chain(50_000)))]
IDS = [*PAIRS, "deep", "deep-reversed"]


@pytest.mark.parametrize("lines", TEXTS, ids=IDS)
def test_lines_of_the_report_are_linked(lines):
    links = link_mlir("\n".join(["%0 = tt.op loc(#loc0)", *lines]))
    assert all(len(stack) <= MAX_FRAMES for stack in links.stacks)
    assert len(links.lines) == len(lines) + 1


@pytest.mark.parametrize("lines", TEXTS, ids=IDS)
def test_compiled_ops_are_located(lines):
    locations = _locations("#loc0", dict(_ALIAS.findall("\n".join(lines))), 0)
    assert len(locations) <= MOST_PARTS


MODULE = """
"builtin.module"() ({
  "tt.func"() <{function_type = () -> (), sym_name = "k"}> ({
    "tt.return"() : () -> () loc(#loc0)
  }) : () -> () loc(#loc0)
}) : () -> () loc(#loc0)
"""


@pytest.mark.parametrize("lines", TEXTS, ids=IDS)
def test_ops_are_located(lines):
    module = parse(MODULE + "\n".join(reversed(lines)))
    frames = location_frames(module.main.op.location)
    assert len(frames) <= MOST_PARTS
