"""The page as a file: its size, its policy, what it says that it left out."""

import base64
import hashlib
import re

import pytest

from kvtrace.cli import main
from kvtrace.converters.registry import load_converter
from kvtrace.converters.report import calls, report_data, report_page
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, resolve
from tests.converters.finding_rows import LOAD, VIOLATION
from tests.converters.written_trace import Kernel, Launches, add_findings, write_trace
from tests.support.packed import blocks_in, read_columns, read_json
from tests.support.report_trace import HOSTILE_NAME, build_report_trace
from tests.support.tiers import some

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build_report_trace(tmp_path_factory.mktemp("page"), launches=3000)


def written(built, path, max_mb=20.0):
    selection = resolve(str(built.path))
    report = report_data(selection.trace, selection.runs, HOSTILE_NAME, "out/")
    return write_page(report, selection, path, max_mb)


def write_page(report, selection, path, max_mb=20.0):
    page = report_page(report, selection, max_mb)
    path.write_text(page.html, encoding="utf-8")
    return page


def block(path, name):
    """The block of that name in a page."""
    return blocks_in(path).get(name)


def test_the_policy_names_the_hash_of_the_only_script_and_style(built, tmp_path):
    written(built, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert policy.startswith("default-src 'none';")
    for content in (script, style):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_text_of_the_trace_is_in_the_page_only_as_packed_data_and_the_escaped_title(
    built, tmp_path
):
    written(built, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<img" not in text
    assert "taken over" not in text
    assert text.count("</script>") == text.count("<script")
    assert "&lt;/script&gt;" in re.search("<title>(.*?)</title>", text, re.DOTALL)[1]


def test_the_same_trace_gives_the_same_page(built, tmp_path):
    written(built, tmp_path / "a.html")
    written(built, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_page_within_its_size_limit_omits_nothing(built, tmp_path):
    result = written(built, tmp_path / "r.html")
    assert result.dropped == ()
    assert len(read_columns(block(tmp_path / "r.html", "launches"))["seq"]) == 3000
    assert block(tmp_path / "r.html", "bins/launches") is None


@pytest.fixture(scope="module")
def least(built, tmp_path_factory):
    """The smallest budget of the page, in MiB, which the error about a smaller one names."""
    with pytest.raises(BadSetting) as refused:
        written(built, tmp_path_factory.mktemp("least") / "r.html", 0.01)
    return float(re.search(r"at least ([\d.]+) MiB", str(refused.value))[1]) + 0.005


@pytest.mark.parametrize("spare_kib", some([2, 10, 20], 3))
def test_page_keeps_a_small_size_limit_and_lists_what_it_omits(built, tmp_path, least, spare_kib):
    budget = least + spare_kib / 1024
    result = written(built, tmp_path / "r.html", budget)
    assert len(result.html.encode()) <= budget * MEBIBYTE
    report = read_json(block(tmp_path / "r.html", "report"))
    assert [entry["what"] for entry in report["dropped"]] == [e.what for e in result.dropped]
    assert {"texts", "launches"} <= {entry.what for entry in result.dropped}
    assert all(e["command"].startswith("kvtrace sql out/ ") for e in report["dropped"])
    kept = len(read_columns(block(tmp_path / "r.html", "launches"))["seq"])
    assert kept < 3000
    assert any(e["text"].startswith(f"{kept:,} of 3,000 launches") for e in report["dropped"])


def test_when_launches_are_left_out_figures_and_bins_still_count_all(built, tmp_path, least):
    written(built, tmp_path / "r.html", least + 0.02)
    report = read_json(block(tmp_path / "r.html", "report"))
    bins = read_columns(block(tmp_path / "r.html", "bins/launches"))
    assert report["totals"]["launches"] == bins["count"].sum() == 3000
    # Bins show what the host was busy with, a warm-up among it.
    warm_up = sum(
        row["exit"] - row["enter"]
        for row in plain_rows(open_trace(built.path).table("launches"))
        if row["phase"] == "warmup"
    )
    assert report["totals"]["host_ns"] + warm_up == bins["busy"].sum()


def test_omitted_texts_are_not_referenced(built, tmp_path, least):
    written(built, tmp_path / "r.html", least + 0.02)
    report = read_json(block(tmp_path / "r.html", "report"))
    texts = [
        entry["text"]
        for variant in report["variants"]
        for entry in (*variant["stages"], *variant["files"])
    ]
    assert None in texts
    assert all(block(tmp_path / "r.html", f"texts/{t}") for t in texts if t is not None)


def test_with_very_many_calls_the_longest_and_those_with_findings_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "_MOST_CALLS", 20)
    many = tuple(Launches(host_us=40 - n, scalar=str(n)) for n in range(22))
    side = write_trace(tmp_path / "out", [Kernel(calls=(many[-1], many[-2], *many[:-2]))])
    add_findings(side, [VIOLATION], [LOAD])
    selection = resolve(str(tmp_path / "out"))
    whole = report_data(selection.trace, selection.runs, "many", "out/")
    result = write_page(whole, selection, tmp_path / "r.html")
    report = read_json(block(tmp_path / "r.html", "report"))
    ids = [call["call_id"] for call in report["calls"]]
    assert [entry.text for entry in result.dropped] == [
        "The 20 unique calls with most host time of 22 are on this page. All:"
    ]
    # call 0 is the shortest, and has a finding; call 1 and the last are shorter than all others
    assert ids == [0, *range(2, 21)]
    assert [(ids[f["call"]], f["in_calls"]) for f in report["findings"]] == [(0, [0])]
    arguments = [report["arguments"][arg]["scalar"] for arg in report["calls"][1]["args"]]
    assert "0" in arguments
    assert report["totals"]["calls"] == report["kernels"][0]["calls"] == 22
    # in the launch of call 0 the kernel was compiled
    assert report["kernels"][0]["host_ns"] == sum(each.host_us * 1_000 for each in many[:-1])
    launches = read_columns(block(tmp_path / "r.html", "launches"))
    assert {-1 if call < 0 else ids[call] for call in launches["call"]} == {-1, *ids}


def test_the_command_writes_the_page_and_says_what_is_in_it(built, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert main(["report", str(built.path), "-o", str(out), "--run", built.run_id[:8]]) == 0
    assert "3,000 launches, 3 kernels" in capsys.readouterr().out
    assert out.stat().st_size > 100_000


def test_the_converter_is_registered_and_refuses_other_settings(built, tmp_path):
    converter = load_converter("report")
    selection = resolve(str(built.path))
    with pytest.raises(BadSetting, match="max-mb"):
        converter.convert(selection, tmp_path / "r.html", {"max-mb": "lots"})
    with pytest.raises(BadSetting, match="at least"):
        converter.convert(selection, tmp_path / "r.html", {"max-mb": "0.01"})
    with pytest.raises(BadSetting, match="color"):
        converter.convert(selection, tmp_path / "r.html", {"color": "red"})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-o", "missing/r.html"], "does not exist"),
        (["--run", "nothing"], "no run"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    built, tmp_path, capsys, monkeypatch, arguments, word
):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(built.path), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("kvtrace: ")
    assert word in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
