"""The fault on the report's first screen: the sentences of `kvtrace fault`, in Chromium."""

import json
import shutil

import pytest

from kvtrace.addons.fault.dumps import explained
from kvtrace.schema.trace import resolve
from tests.addons.fault.recorded import FAULTS
from tests.converters.page_layout import screen_problems
from tests.converters.replayed_trace import blocks_of
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.packed import read_json


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return shutil.copytree(FAULTS / "gather_index_graph", tmp_path_factory.mktemp("page") / "out")


@pytest.fixture(scope="module")
def page(trace):
    return written_page(trace, trace.parent / "page.html", "--no-replay")


@pytest.mark.parametrize("scheme", THEMES)
def test_fault_is_the_first_thing_on_the_first_screen(report_browser, trace, page, scheme):
    (shown,) = explained(trace, None, None).shown()
    with opened_page(report_browser, page, "#/", scheme=scheme, width=1440) as opened:
        opened.page.wait_for_selector("#faults .fault")
        assert opened.page.locator("main section").first.get_attribute("id") == "faults"
        assert opened.page.locator("#faults h3").inner_text() == shown.headline
        assert opened.page.locator("#faults pre").text_content() == "\n".join(shown.excerpt)
        said = opened.text("#faults")
        for label, sentence in shown.facts:
            assert label in said
            assert sentence in said
        assert [
            line.inner_text() for line in opened.page.locator("[data-fact=run] .command").all()
        ] == list(shown.commands)
        assert f"kvtrace fault {trace}" in said
        assert f"kvtrace fault {trace} names" in opened.text("#messages")
        assert screen_problems(opened) == []
        assert accessibility_problems(opened) == []
        opened.page.get_by_role("link", name="its arguments and accesses").click()
        opened.page.wait_for_function("() => location.hash === '#/call/0'")


@pytest.fixture(scope="module")
def hang(tmp_path_factory):
    """A deadlock, of a process that was also asked for its Python stacks."""
    out = tmp_path_factory.mktemp("hang") / "out"
    shutil.copytree(FAULTS / "deadlock_eager", out)
    (dump,) = (out / "faults").iterdir()
    frames = [
        {"file": f"/home/me/{name}.py", "line": line, "function": name, "is_own": True}
        for name, line in (("step", 7), ("train", 9))
    ]
    threads = [{"name": "MainThread", "is_main": True, "frames": frames}]
    stacks = dump.with_suffix(".stacks")
    stacks.write_text(json.dumps({"time": 5, "threads": threads}), encoding="utf-8")
    return out


def test_kernel_that_hangs_is_shown_with_its_process_and_python_stack(
    report_browser, hang, tmp_path
):
    (shown,) = explained(hang, None, None).shown()
    assert shown.process.endswith(", asked at 00:00:00.000 UTC")
    page = written_page(hang, tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page, "#/", width=1440) as opened:
        opened.page.wait_for_selector("#faults .fault")
        assert opened.page.locator("#faults .fault p").inner_text() == shown.process
        assert opened.page.locator("[data-fact=python] dd").inner_text().split("\n") == [
            "step, /home/me/step.py:7",
            "called at train, /home/me/train.py:9",
        ]
        assert "a value of locks" in opened.text('[data-fact="waits for"]')
        assert screen_problems(opened) == []
        assert accessibility_problems(opened) == []


def test_stacks_that_cannot_be_read_are_a_sentence(hang, tmp_path):
    out = shutil.copytree(hang, tmp_path / "out")
    next(out.glob("faults/*.stacks")).write_bytes(b"{}")
    block = faults_on(out)
    (problem,) = block["problems"]
    assert "cannot be read as Python stacks" in problem


def faults_on(trace, *, source=True):
    block = blocks_of(resolve(str(trace)), source=source).blocks.get("faults")
    return None if block is None else read_json(block)


def test_page_without_source_has_no_line_of_the_program(trace):
    (fault,) = faults_on(trace, source=False)["faults"]
    assert fault["excerpt"] == []
    assert [
        "try",
        "check what index holds before the launch, or mask lanes whose index is outside",
    ] in fault["facts"]


def test_trace_without_a_dump_has_no_block(trace, tmp_path):
    out = shutil.copytree(trace, tmp_path / "out")
    shutil.rmtree(out / "faults")
    assert faults_on(out) is None


def test_dump_that_cannot_be_read_is_a_sentence_beside_the_others(trace, tmp_path):
    out = shutil.copytree(trace, tmp_path / "out")
    (out / "faults" / "host.2.nvcudmp").write_bytes(b"\x7fELF and nothing")
    block = faults_on(out)
    assert [fault["headline"].rpartition(" ")[2] for fault in block["faults"]] == ["gather"]
    (problem,) = block["problems"]
    assert "host.2.nvcudmp cannot be read as a GPU core dump" in problem


def test_dump_of_another_process_of_the_trace_is_not_on_the_page(tmp_path):
    """Two programs recorded into one folder, of which the page shows the second one."""
    out = tmp_path / "out"
    for name in ("gather_index_graph", "paged_stride_graph"):
        shutil.copytree(FAULTS / name, out, dirs_exist_ok=True)
        (run,) = resolve(str(FAULTS / name)).runs
        (dump,) = (FAULTS / name / "faults").iterdir()
        shutil.copy(dump, out / "faults" / f"host.{run.pid}.nvcudmp")
    (out / "faults" / "host.1.nvcudmp").unlink()
    block = faults_on(out / run.run_id)
    assert [fault["headline"].rpartition(" ")[2] for fault in block["faults"]] == ["paged"]
    assert block["more"] == 0
