"""Blocks of lines: sums over ops, weighed by runs, beside source and IR."""

import pytest

from kvtrace.converters.profile.profile import read_profile
from tests.converters.replayed_trace import json_blocks, replayed, replayed_blocks
from tests.support.packed import read_json


@pytest.fixture(scope="module")
def train():
    return replayed("train")


@pytest.fixture(scope="module")
def budget():
    return replayed_blocks("train")


@pytest.fixture(scope="module")
def report(budget):
    return read_json(budget.blocks["report"])


@pytest.fixture(scope="module")
def lines(budget):
    return json_blocks(budget, "lines")


def test_every_variant_that_was_replayed_has_a_block(report, lines):
    assert set(lines) == {call["variant"] for call in report["calls"]}
    assert all(block["measured"] is False for block in lines.values())


def test_ops_add_up_to_their_variant_s_calls(report, lines):
    for index, block in lines.items():
        calls = [call for call in report["calls"] if call["variant"] == index]
        assert block["runs"] == sum(call["runs"] for call in calls)
        for name in ("bytes", "flops"):
            of_ops = sum(op[name] or 0 for op in block["ops"].values())
            assert of_ops == sum(call["runs"] * call[name] for call in calls)
        shares = [op["time_share"] for op in block["ops"].values()]
        assert sum(shares) == pytest.approx(1)


def test_lines_have_the_profile_s_figures(train, lines, report):
    """The profile counts an op on its innermost line; compared where nothing was inlined."""
    profile = {(line.file, line.line): line for line in read_profile(
        train.trace, train.runs, lines=True).lines}  # fmt: skip
    summed = {}
    for block in lines.values():
        for file in block["files"]:
            for line, figures in file["lines"].items():
                if figures["own"]:
                    place = (file["path"], int(line))
                    known = summed.setdefault(place, {"bytes": 0, "flops": 0, "ops": []})
                    known["bytes"] += figures["bytes"] or 0
                    known["flops"] += figures["flops"] or 0
    compared = 0
    for place, own in profile.items():
        if any(other != place and place[0] in other[0] for other in summed) and own.bytes:
            assert summed[place]["bytes"] == own.bytes
            compared += 1
    assert compared > 20


def test_a_line_that_something_is_inlined_into_has_its_figures(lines, report):
    (norm,) = (i for i, k in enumerate(report["kernels"]) if k["name"] == "layer_norm_forward")
    (variant,) = report["kernels"][norm]["variants"]
    files = {file["path"].rpartition("/")[2]: file["lines"] for file in lines[variant]["files"]}

    of_library = {op for figures in files["standard.py"].values() for op in figures["ops"]}
    of_kernel = {op for figures in files["layer_norm.py"].values() for op in figures["ops"]}

    assert of_library
    assert of_library <= of_kernel


def test_the_lines_of_ir_hold_the_ops(budget, lines, report):
    for index, block in lines.items():
        for stage in report["variants"][index]["stages"]:
            if stage["stage"] not in block["stages"]:
                continue
            text = read_json(budget.blocks[f"texts/{stage['text']}"])["text"].split("\n")
            for op, line in block["stages"][stage["stage"]].items():
                if op in block["ops"]:
                    assert block["ops"][op]["op"] in text[line - 1]


def test_shares_of_lanes_and_sectors_are_between_none_and_all(lines):
    for block in lines.values():
        for op in block["ops"].values():
            for name in ("masked_share", "time_share"):
                assert op[name] is None or 0 <= op[name] <= 1
            assert op["sector_efficiency"] is None or 0 < op["sector_efficiency"] <= 1


def test_a_variant_that_only_a_tuner_launched_has_figures_of_one_launch():
    budget = replayed_blocks("device")
    report = read_json(budget.blocks["report"])
    blocks = json_blocks(budget, "lines")
    tried = [index for index, block in blocks.items() if block["runs"] == 0]
    assert tried
    for index in tried:
        (call,) = (call for call in report["calls"] if call["variant"] == index)
        moved = sum(op["bytes"] or 0 for op in blocks[index]["ops"].values())
        assert moved == call["bytes"]


def test_lines_have_the_layouts_of_the_variant_s_compiled_code(lines, report):
    pytest.importorskip("triton", minversion="3.7")
    (product,) = (k for k in report["kernels"] if k["name"] == "matmul_kernel")
    ways = set()
    for variant in product["variants"]:
        names = {figure["name"] for figure in lines[variant]["layout_figures"]}
        for file in lines[variant]["files"]:
            for figures in file["lines"].values():
                assert set(figures["layout"]["values"]) <= names
                ways.add(figures["layout"]["values"].get("bank_ways"))
    # Eight lanes ask for 16 bytes each, at a distance of 64 words, for the second operand of a
    # float32 product whose tile is stored by columns.
    assert ways == {None, 1, 8}
