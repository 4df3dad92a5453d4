"""The view of checked launches, in Chromium: the table, the map of errors, the link of a kernel."""

import numpy as np
import pyarrow as pa
import pytest
import torch

import kvtrace
from corpus.kernels import oracle_kernels as kernels
from kvtrace.addons.check.stage_faults import Fault, message_with_fault
from kvtrace.cli import main
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.backends.compiled_kernels import check_kernels
from tests.converters.page_layout import screen_problems
from tests.converters.replayed_trace import blocks_of
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.packed import read_json
from tests.support.planting import with_other_memory

ROWS, COLUMNS = 64, 96
STAGE = "behind TTGIR"
PATTERN = "1 program of 12: (1, 1, 0), warp 1 alone, whole rows 4 to 5"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A sum that is right, and a matrix of which the device left two rows of a tile out."""
    out = tmp_path_factory.mktemp("checks") / "out"
    x, y = torch.ones(1000), torch.ones(1000)
    matrix = torch.rand(ROWS, COLUMNS) + 1
    with kvtrace.capture(out, check="first"):
        check_kernels.add[(4,)](x, y, torch.zeros(1000), 1000, BLOCK=256, num_warps=8)
        made = torch.zeros(ROWS, COLUMNS)
        kernels.scaled[(4, 3)](matrix, made, ROWS, COLUMNS, BM=16, BN=32)

    def change(content):
        held = np.frombuffer(content, np.float32).reshape(ROWS, COLUMNS).copy()
        held[20:22, 32:64] = 0
        return held.tobytes()

    with_other_memory(out, "scaled", change)
    assert main(["check", str(out)]) == 1
    return out


@pytest.fixture(scope="module")
def path(trace):
    return written_page(trace, trace.parent / "page.html", "--no-replay")


@pytest.mark.parametrize("scheme", THEMES)
def test_differing_storages_come_first_with_location_and_map(report_browser, trace, path, scheme):
    with opened_page(report_browser, path, "#/checks", scheme=scheme, width=1920) as opened:
        rows = [
            row.inner_text().split("\t") for row in opened.page.locator("#checks tbody tr").all()
        ]
        assert [(row[0], row[1].strip(), row[2], row[5]) for row in rows] == [
            ("differs", "scaled", "4", "out"), ("agrees", "add", "8", "out"),
        ]  # fmt: skip
        assert rows[0][-2:] == [STAGE, PATTERN]
        assert rows[1][-2] == "–"
        assert rows[0][6:8] == ["6,144", "64"]
        opened.page.locator("#checks tbody tr").first.click()
        opened.page.wait_for_selector("#error-map")
        assert "check=0" in opened.page.evaluate("() => location.hash")
        said = opened.text("#check")
        assert PATTERN in said
        assert f"{STAGE}: the TTGIR has the same values as the TTIR (derived)" in said
        assert "0 (measured)" in said
        assert "within 0 (derived)" in said
        opened.page.get_by_role("button", name="Show as a table").click()
        (found,) = [
            row for row in plain_rows(open_trace(trace).table("checks"))
            if row["answer"] == "differs"
        ]  # fmt: skip
        parts = [
            row.inner_text().split("\t")
            for row in opened.page.locator("#error-parts tbody tr:not([aria-hidden])").all()
        ]
        assert float(parts[0][1]) == pytest.approx(max(found["map"]), rel=0.01)
        assert parts[0][0].startswith("rows 20 to 21, column")
        opened.go("#/checks?check=0&cell=661")
        assert opened.text("#chosen-cell").startswith("rows 20 to 21, columns 31 to 32: ")
        assert accessibility_problems(opened) == []
        assert screen_problems(opened) == []


def test_stage_of_each_wrong_storage_comes_from_its_own_finding(tmp_path):
    """Findings of one place that disagree say nothing of either row."""
    faults = [Fault("ttgir", "one"), Fault("unknown", "two"), Fault("behind ttgir", "three"), None]
    lanes = [1, 2, 2, 4]
    writer = RunWriter(tmp_path / "out", new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "add"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    writer.seal({"ending": "exit"})
    findings = [
        {"finding_id": str(seq), "call_id": 0, "rule": "wrong-result", "verdict": "violation",
         "arg": "out", "lanes": count, "lane": [3], "message": message_with_fault("wrong", fault)}
        for seq, (fault, count) in enumerate(zip(faults, lanes, strict=True))
    ]  # fmt: skip
    rows = [
        {"seq": seq, "call_id": 0, "arg": 0, "answer": "differs", "name": "out",
         "differing": count, "lane": [3]}
        for seq, count in enumerate(lanes)
    ]  # fmt: skip
    tables = {
        name: pa.Table.from_pylist(made, TABLES[name].schema)
        for name, made in (("checks", rows), ("findings", findings))
    }
    open_trace(tmp_path / "out").add_derived(writer.run_id, "check", tables)

    shown = read_json(blocks_of(resolve(str(tmp_path / "out"))).blocks["checks/index"])

    assert [(row["seq"], row["stage"], row["stage_reason"]) for row in shown] == [
        (0, "ttgir", "one"), (1, None, None), (2, None, None), (3, None, None),
    ]  # fmt: skip


def test_filters_of_the_view_are_in_the_address_and_linked_from_the_kernel(report_browser, path):
    with opened_page(report_browser, path, "#/checks?answer=agrees") as opened:
        assert opened.page.locator("#checks tbody tr").count() == 1
        opened.go("#/kernels")
        opened.page.get_by_role("link", name="scaled", exact=True).first.click()
        opened.page.get_by_role("link", name="1 differs (derived)").click()
        opened.page.wait_for_selector("#checks")
        assert "kernel=" in opened.page.evaluate("() => location.hash")
        assert opened.page.locator("#checks tbody tr").count() == 1
        assert "differs" in opened.text("#checks")


def test_finding_of_a_check_is_listed_without_a_verdict_on_accesses(report_browser, path):
    with opened_page(report_browser, path, "#/findings") as opened:
        assert "Not judged" in opened.text("main .note")
        (row,) = opened.page.locator("#finding-list tbody tr[data-place]").all()
        assert "wrong-result" in row.inner_text()
        row.click()
        opened.page.wait_for_selector("#finding")
        assert "64 of 6,144 elements of out" in opened.text("#finding")


def test_report_without_checks_has_no_checks_view(report_browser, tmp_path):
    with kvtrace.capture(tmp_path / "out"):
        check_kernels.double[(4,)](torch.ones(1000), 1000, BLOCK=256)
    page = written_page(tmp_path / "out", tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        assert opened.page.locator("nav a", has_text="Checks").count() == 0
