"""The difference of two traces as the block that the report's view "compare" reads."""

import json

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import compare
from kvtrace.converters.diff.page import comparison_object
from tests.converters.finding_rows import LOAD, VIOLATION
from tests.converters.written_trace import (
    SOURCE,
    Kernel,
    Launches,
    Op,
    add_findings,
    add_ops,
    write_trace,
)
from tests.support.packed import blocks_in, read_json
from tests.support.replacing import replace

CHANGED = SOURCE.replace("values * 2", "values * 3").replace("    values", "    # read\n    values")
BEFORE_TTIR = "module {\n  %0 = arith.constant 1 : i32 loc(#loc1)\n  tt.return loc(#loc2)\n}\n"
AFTER_TTIR = "module {\n  %0 = arith.constant 2 : i32 loc(#loc1)\n  tt.return loc(#loc2)\n}\n"


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """A kernel that changed source, code, registers and time, and one that only AFTER has."""
    folder = tmp_path_factory.mktemp("sides")
    before = Kernel(calls=(Launches(number=3, host_us=10),), registers=32, ttir=BEFORE_TTIR)
    after = replace(
        before, source=CHANGED, registers=40, ttir=AFTER_TTIR,
        calls=(Launches(number=4, host_us=20, device_us=5),),
    )  # fmt: skip
    one = write_trace(folder / "a", [before])
    two = write_trace(folder / "b", [after, Kernel(name="added", line=90)])
    add_ops(one, [Op(0, 3, "load", 12, {"bytes": 4000, "flops": 0})])
    add_ops(two, [Op(0, 3, "load", 12, {"bytes": 8000, "flops": 0})])
    add_findings(one, [])
    add_findings(two, [VIOLATION], [LOAD])
    return one, two


@pytest.fixture(scope="module")
def found(sides):
    return comparison_object(compare(*sides, labels=("old", "new")))


def kernel_named(found, name):
    (kernel,) = (each for each in found["kernels"] if each["name"] == name)
    return kernel


def metric(metrics, name):
    (found,) = (each for each in metrics if each["name"] == name)
    return (found["before"], found["after"])


def test_block_has_only_json_values(found):
    assert json.loads(json.dumps(found, allow_nan=False))["empty"] is False


def test_source_stands_side_by_side_whole_and_with_the_file_s_numbers(found):
    source = kernel_named(found, "scale")["source"]

    assert [text for _, _, text, _, _ in source["rows"] if text is not None] == SOURCE.splitlines()
    assert [text for *_, text in source["rows"] if text is not None] == CHANGED.splitlines()
    assert [row[0] for row in source["rows"]] == ["same", "same", "added", "same", "changed"]
    assert [row[1] for row in source["rows"]] == [10, 11, None, 12, 13]
    assert [row[3] for row in source["rows"]] == [10, 11, 12, 13, 14]


def test_code_stands_side_by_side_without_locations(found):
    (variant,) = kernel_named(found, "scale")["variants"]
    rows = variant["code"]["rows"]

    assert variant["code"]["stage"] == "ttir"
    assert [row[0] for row in rows] == ["same", "changed", "same", "same"]
    assert rows[1][2].strip() == "%0 = arith.constant 1 : i32"
    assert rows[1][4].strip() == "%0 = arith.constant 2 : i32"


def test_figures_are_pairs_that_say_where_they_are_from(found):
    kernel = kernel_named(found, "scale")
    (variant,) = kernel["variants"]

    assert metric(kernel["metrics"], "launches") == (3, 4)
    assert metric(kernel["metrics"], "host_ns") == (20_000, 60_000)
    assert metric(kernel["metrics"], "device_ns") == (None, 20_000)
    assert metric(kernel["metrics"], "bytes") == (12_000, 32_000)
    assert metric(variant["resources"], "registers") == (32, 40)
    measured = {each["name"]: each["measured"] for each in kernel["metrics"]}
    assert (measured["host_ns"], measured["bytes"]) == (True, False)


def test_a_kernel_that_one_side_lacks_has_no_figures_there(found):
    added = kernel_named(found, "added")
    assert added["status"] == "added"
    assert metric(added["metrics"], "launches") == (None, 1)


def test_findings_of_one_side_are_listed(found):
    (new,) = found["findings"]
    assert (new["status"], new["finding"]["rule"]) == ("new", "out-of-bounds")


def test_the_command_writes_the_report_of_after_with_the_difference_in_it(sides, tmp_path, capsys):
    one, two = sides
    page = tmp_path / "d.html"

    code = main(
        ["diff", str(one.trace.path), str(two.trace.path), "--html", str(page), "--exit-code"]
    )

    assert code == 1
    assert "wrote" in capsys.readouterr().out
    blocks = blocks_in(page)
    report, compared = read_json(blocks["report"]), read_json(blocks["compare"])
    names = [report["kernels"][kernel["kernel"]]["name"] for kernel in compared["kernels"]]
    assert names == [kernel["name"] for kernel in compared["kernels"]]


def test_page_is_written_besides_printed_output(sides, tmp_path, capsys):
    one, two = (str(side.trace.path) for side in sides)
    page = tmp_path / "d.html"
    assert main(["diff", one, two, "--html", str(page), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["empty"] is False
    assert page.stat().st_size > 0
