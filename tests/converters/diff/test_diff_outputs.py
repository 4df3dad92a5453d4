"""Every form of a difference: where it goes, what it says of what was not judged, and launches."""

import json
from xml.etree import ElementTree

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import (
    Outputs,
    compare,
    difference_junit,
    difference_markdown,
    difference_object,
    headline_text,
)
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.model import KernelMeaning
from kvtrace.converters.diff.page import comparison_object
from kvtrace.converters.diff.words import meaning_lines
from kvtrace.schema.errors import BadSetting
from tests.converters.compared_kernels import LINE_3, SCALE, finding
from tests.converters.written_trace import Kernel, Launches, add_findings, write_trace
from tests.support.replacing import replace
from tests.support.tiers import some

NEVER, ONE_SIDE, OTHER_RULES = "never", "one side", "other rules"
TOLD = {
    NEVER: "findings: not judged in before and after, so none are compared",
    ONE_SIDE: "findings: not judged in before, so none are compared",
    OTHER_RULES: "findings of race are not compared: only after was judged by them",
}


@pytest.mark.parametrize("judged", some([OTHER_RULES, NEVER, ONE_SIDE], 3))
def test_all_five_outputs_report_missing_analysis(tmp_path, judged):
    a, b = (write_trace(tmp_path / name, [SCALE]) for name in "ab")
    if judged == OTHER_RULES:
        add_findings(a, [], [LINE_3], rules=["out-of-bounds"])
    if judged != NEVER:
        add_findings(b, [finding("x", LINE_3)], [LINE_3], rules=["out-of-bounds", "race"])
    found = compare(a, b)
    told = TOLD[judged]
    if judged == OTHER_RULES:
        assert [f.status for f in found.findings] == ["new"]
    else:
        assert found.empty
    assert told in " ".join(line.strip() for line in headline_text(found, width=200))
    assert told in "\n".join(difference_markdown(found)).replace("\\", "")
    page, form = comparison_object(found), difference_object(found)
    assert told in json.dumps([page["unjudged"], page["notes"]])
    assert told in json.dumps([form["unjudged"], form["notes"]])
    root = ElementTree.fromstring(difference_junit(found))
    (skipped,) = root.findall("testsuite/testcase[@name='findings']/skipped")
    assert told in skipped.get("message")


def test_junit_fails_for_regressions_or_violated_rules(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [replace(SCALE, registers=40)])
    (failure,) = ElementTree.fromstring(difference_junit(compare(a, b))).iter("failure")
    assert failure.get("message") == "registers: 32 → 40, +25.0%, worse, exact"
    gate = Gate(read_rules(["registers>+50%", "registers>39", "time>+5%"]))
    root = ElementTree.fromstring(difference_junit(compare(a, b, gate=gate), gate))
    cases = {case.get("name"): [each.tag for each in case] for case in root.iter("testcase")}
    assert cases["registers>+50%"] == []
    assert cases["registers>39"] == ["failure"]
    assert cases["time>+5%"] == ["error"]
    assert cases["resources: registers"] == ["system-out"]
    assert (root.get("failures"), root.get("errors")) == ("2", "1")  # the rule, and so the merge


def test_two_output_formats_cannot_both_be_printed():
    with pytest.raises(BadSetting, match="--json and --junit cannot both go to standard output"):
        Outputs(json="-", junit="-")
    assert Outputs(json="-", junit="x.xml").printed == "json"
    assert Outputs(json="x").printed is None


@pytest.mark.parametrize(("form", "begins"), [("junit", "<?xml"), ("html", "<!doctype html>")])
def test_every_output_format_can_be_printed(tmp_path, form, begins, capsys):
    one = str(write_trace(tmp_path / "a", [SCALE]).trace.path)
    assert main(["diff", one, one, "--no-replay", f"--{form}", "-"]) == 0
    assert capsys.readouterr().out.lower().startswith(begins)


def test_unwritable_file_raises_a_one_sentence_error(tmp_path, capsys):
    one = str(write_trace(tmp_path / "a", [SCALE]).trace.path)
    assert main(["diff", one, one, "--no-replay", "--junit", str(tmp_path / "no" / "x.xml")]) == 2
    assert "does not exist; make it first" in capsys.readouterr().err


def test_the_headline_fits_a_screen(tmp_path):
    def kernels(registers):
        calls = (Launches(number=2),)
        return [
            Kernel(name=f"a_kernel_of_long_name_{n}", line=n, registers=registers + n, calls=calls)
            for n in range(60)
        ]  # fmt: skip

    a = write_trace(tmp_path / "a", kernels(32))
    b = write_trace(tmp_path / "b", kernels(40))
    found = compare(a, b)
    lines = headline_text(found, width=100)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "… 44 more lines: 44 worse, 0 changed, 0 better (-v)" in lines
    shares = [row.share for row in found.headline]
    assert shares == sorted(shares, reverse=True)


def test_a_comment_is_never_too_long_to_be_posted(tmp_path):
    long = "\n".join(f"    line_{n} = {n} * {'x' * 60}" for n in range(400))
    sources = [f"def scale(x):\n{long}\n", f"def scale(x):\n{long.replace('line', 'row')}\n"]
    sides = [[Kernel(name=f"k{n}", source=text, line=n) for n in range(9)] for text in sources]
    a, b = (write_trace(tmp_path / name, side) for name, side in zip("ab", sides, strict=True))
    difference = compare(a, b)
    lines = difference_markdown(difference)
    assert sum(len(line) + 1 for line in lines) < 65_536
    assert any("more kernels differ" in line for line in lines)
    # Calls that differ alike by other evidence are one subject.
    calls = [KernelMeaning("k0", "y", "differs", "differs", evidence=text) for text in "ab"]
    assert meaning_lines(replace(difference, meanings=tuple(calls))) == ["k0, y: differs"]


def test_dissimilar_kernels_are_not_matched_as_renamed(tmp_path):
    other = "def other(q, w):\n    while q:\n        q = w(q)\n    return [q for q in w]\n"
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [Kernel(name="other", source=other, ttir="module {}\n")])
    assert sorted(k.status for k in compare(a, b).kernels) == ["added", "removed"]


def test_renamed_kernels_are_matched_once_by_similarity(tmp_path):
    def renamed(name, text):
        return Kernel(name=name, source=SCALE.source.replace("def scale", f"def {name}") + text)

    a = write_trace(
        tmp_path / "a", [renamed("one", ""), renamed("two", "    x = tl.load(1) + 2\n")]
    )
    b = write_trace(
        tmp_path / "b", [renamed("zwei", "    x = tl.load(1) + 2\n"), renamed("eins", "")]
    )
    found = compare(a, b)
    assert {(k.renamed_from, k.name, k.similarity) for k in found.kernels} == {
        ("one", "eins", 1.0),
        ("two", "zwei", 1.0),
    }


def test_findings_follow_a_renamed_kernel(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    renamed = replace(SCALE, name="scaled", source=SCALE.source.replace("def scale", "def scaled"))
    b = write_trace(tmp_path / "b", [renamed])
    for side in (a, b):
        add_findings(side, [finding("x", LINE_3)], [LINE_3], rules=["out-of-bounds"])
    found = compare(a, b)
    assert found.findings == ()
    assert [one.kernel for one in found.still] == ["scaled"]
