"""What the report says of the run before of the same program."""

import re

import pytest

from kvtrace.converters.report.pack import read_json
from kvtrace.schema.writer import RunWriter
from tests.converters.report_page import opened_page, written_page

KERNEL = {"kernel_id": 0, "name": "scaled", "registers": 32, "spills": 0, "num_warps": 4}


def recorded(out, run_id, command, **changed):
    writer = RunWriter(out, run_id)
    writer.append_rows("kernels", [KERNEL | changed])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0, "grid_x": 4}])
    launches = [{"seq": n, "call_id": 0, "enter": 100 + n, "exit": 109 + n} for n in range(9)]
    writer.append_rows("launches", launches)
    writer.flush()
    writer.seal({"command": command, "mode": "launch", "ending": "exit"})


def since(page):
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r'<script type="application/gzip\+base64" id="(since)">([^<]*)<', text)
    return read_json(blocks[0][1])


@pytest.fixture
def out(tmp_path):
    recorded(tmp_path / "out", "20260101T000000-a", "python train.py")
    recorded(tmp_path / "out", "20260102T000000-b", "python other.py", registers=99)
    return tmp_path / "out"


def test_the_first_run_of_a_program_is_compared_with_nothing(out, tmp_path):
    page = written_page(out, tmp_path / "r.html", "--no-replay")
    assert ' id="since">' not in page.read_text(encoding="utf-8")


def test_a_later_run_is_compared_with_the_one_before_of_the_same_command(
    report_browser, out, tmp_path
):
    recorded(out, "20260103T000000-c", "python train.py", registers=64, spills=8)
    page = written_page(out, tmp_path / "r.html", "--no-replay")
    told = since(page)
    assert told["why"] == ""
    assert told["before"] == "20260101T000000-a"
    assert told["command"].endswith("out/20260101T000000-a " + f"{out}/20260103T000000-c")
    assert [row["what"] for row in told["rows"]] == ["spills", "registers"]
    assert told["rows"][0]["direction"] == "worse"
    with opened_page(report_browser, page) as opened:
        opened.page.wait_for_selector("#since-run tbody tr")
        shown = opened.text("#since-run")
        assert "Compared with 20260101T000000-a" in shown
        assert "8" in shown
        assert "worse" in shown


def test_unchanged_run_is_reported_with_a_command_for_details(out, tmp_path):
    recorded(out, "20260103T000000-c", "python other.py", registers=99)
    told = since(written_page(out, tmp_path / "r.html", "--no-replay"))
    assert told["before"] == "20260102T000000-b"
    assert told["summary"].startswith("no difference in 1 kernel")
    assert told["command"].startswith("kvtrace diff ")


def test_an_earlier_run_that_is_damaged_is_said_to_be(out, tmp_path):
    recorded(out, "20260103T000000-c", "python train.py")
    (part,) = (out / "kernels").glob("*20260101*/*.parquet")
    part.write_bytes(b"PAR1 no more")
    told = since(written_page(out, tmp_path / "r.html", "--no-replay"))
    assert told["why"].startswith("an earlier run cannot be read: ")
    assert told["rows"] == []
