"""Each kind of change, recorded from real commits without a GPU: at its level, and nothing else."""

import json
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import compare, difference_text
from kvtrace.converters.diff.page import comparison_object
from kvtrace.schema.trace import resolve

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(find_spec("triton") is None, reason="nothing here can launch"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    from tests.converters.diff.diff_commits import record_commits

    return record_commits(tmp_path_factory.mktemp("commits"))


def difference(recorded: Path, after: str, before: str = "first", *, generic: bool = False):
    from kvtrace.analysis.conditions import kernel_conditions

    sides = [resolve(str(recorded / name)) for name in (before, after)]
    conditions = tuple(kernel_conditions(side)[0] for side in sides) if generic else None
    found = compare(*sides, conditions=conditions)
    assert {row.kernel for row in found.headline} == {k.name for k in found.kernels}, found.headline
    # causes, which are neither, come first in a kernel's rows
    judged = [row.direction for row in found.headline if row.direction != "changed"]
    assert judged == sorted(judged, key=("worse", "better").index)
    return found


def rows(found):
    return [(row.level, row.what, row.direction, row.certainty) for row in found.headline]


def only_kernel(found):
    (kernel,) = found.kernels
    return kernel


@pytest.mark.parametrize("name", ["again", "moved"])
def test_one_program_in_two_checkouts_has_no_differences(recorded, name, capsys):
    found = difference(recorded, name, generic=True)
    assert found.empty, difference_text(found)
    assert found.headline == ()
    sides = [str(recorded / each) for each in ("first", name)]
    assert main(["diff", *sides, "--exit-code", "--generic"]) == 0
    assert "no difference in 3 kernels" in capsys.readouterr().out


def test_changed_mask_is_reported(recorded):
    found = difference(recorded, "mask")
    assert {f.finding.rule for f in found.findings} == {"out-of-bounds"}
    assert [row.level for row in found.headline] == ["source", "findings", "work", "work"]
    cause, first, second, _ = found.headline
    assert first.what.startswith("error: out-of-bounds of x_ptr, line 11 (and 2 more)")
    assert (second.what, second.direction, second.certainty) == ("bytes", "worse", "derived")
    assert cause.what == "source -1 +1 lines; TTIR 1 arith.cmpi altered"
    assert only_kernel(found).name == "add"


def test_changed_block_size_is_reported(recorded):
    found = difference(recorded, "block", generic=True)
    (variant,) = only_kernel(found).variants
    assert [change.what for change in variant.changes] == ["constexpr BLOCK"]
    cause = next(row for row in found.headline if row.level == "options")
    assert cause.what.startswith(
        "constexpr BLOCK 128 → 256; TTIR the same except for 128 → 256; grid"
    )
    (ttir,) = (stage for stage in variant.stages if stage.stage == "ttir")
    assert (ttir.counts, ttir.moved, ttir.altered) == ((), (), ())
    assert {row.level for row in found.headline} <= {"options", "resources", "work"}


def test_widened_type_is_reported(recorded):
    found = difference(recorded, "dtype")
    first = next(row for row in found.headline if row.level == "work")
    assert (first.what, first.direction, first.certainty) == ("bytes", "worse", "derived")
    assert first.share == pytest.approx(1.0)
    cause = next(row for row in found.headline if row.level == "options")
    assert cause.what.startswith("type of x_ptr *fp16 → *fp32")


def test_renamed_kernel_is_reported(recorded):
    found = difference(recorded, "renamed")
    assert rows(found) == [("kernel", "renamed, 100% alike", "changed", "exact")]
    kernel = only_kernel(found)
    assert (kernel.name, kernel.renamed_from, kernel.similarity) == ("plus", "add", 1.0)
    assert kernel.source is None
    assert [variant for variant in kernel.variants if variant.code] == []


def test_removed_kernel_is_reported(recorded):
    found = difference(recorded, "removed")
    assert rows(found) == [("kernel", "kernel removed", "changed", "exact")]
    assert only_kernel(found).name == "rows"


def test_added_spill_is_reported(recorded):
    found = difference(recorded, "spill")
    cause, worst = found.headline[:2]
    assert (worst.kernel, worst.what, worst.before) == ("outer", "spills", "0")
    assert worst.direction == "worse"
    assert cause.what == "num_warps 4 → 1"
    occupancy = next(row for row in found.headline if row.what == "occupancy")
    assert (occupancy.before, occupancy.after) == ("18.8 %", "50.0 %")
    assert (occupancy.direction, occupancy.certainty) == ("better", "derived")


def test_narrowed_index_arithmetic_is_reported(recorded):
    found = difference(recorded, "narrow", generic=True)
    assert [row.level for row in found.headline[:2]] == ["source", "bounds"]
    assert ("columns: first bad", "2,147,483,585") in [(r.what, r.before) for r in found.headline]
    cause = next(row for row in found.headline if row.level == "source")
    assert "TTIR -5 arith.extsi" in cause.what
    assert found.findings == ()


@pytest.mark.night("a minute of searches; test_diff_gate.py has bounds that shrink")
def test_narrowed_bound_is_reported(recorded):
    found = difference(recorded, "narrower", "narrow", generic=True)
    bounds = [row for row in found.headline if row.level == "bounds"]
    assert [(row.what, row.direction) for row in bounds] == [
        ("count: first bad", "worse"), ("columns: first bad", "worse"),
    ]  # fmt: skip
    assert [row.share for row in bounds] == pytest.approx([-0.75, -0.74], abs=0.01)


def test_bounds_are_not_compared_unasked(recorded):
    unasked = difference(recorded, "narrower", "narrow")
    assert (unasked.bounds, unasked.bounds_unjudged) == (
        (),
        "not compared (kvtrace diff --generic)",
    )


def test_sides_are_named_by_tags_and_branches(recorded, tmp_path, monkeypatch, capsys):
    import shutil

    together = tmp_path / "together"
    for name in ("first", "mask"):
        shutil.copytree(recorded / name, together, dirs_exist_ok=True)
    monkeypatch.chdir(recorded.parent / "checkout")
    assert main(["diff", "@v-first", "@v-mask", "--in", str(together), "--exit-code"]) == 1
    assert "add " in capsys.readouterr().out
    assert main(["diff", f"{together}/@v-first", f"{together}/@main", "--exit-code"]) == 1
    assert main(["diff", "@v-first", "@v-block", "--in", str(together)]) == 2
    assert "nor is it a tag or branch" in capsys.readouterr().err


def test_all_outputs_of_one_call_have_the_same_headline(recorded, tmp_path, capsys):
    files = {name: tmp_path / f"d.{name}" for name in ("markdown", "json", "junit", "html")}
    options = [text for name, file in files.items() for text in (f"--{name}", str(file))]
    assert main(["diff", str(recorded / "first"), str(recorded / "mask"), *options]) == 1
    printed = capsys.readouterr().out
    form = json.loads(files["json"].read_text())
    shown = form["headline"]
    assert len(shown) == 4
    markdown = files["markdown"].read_text()
    cases = ElementTree.parse(files["junit"]).findall("testsuite[@name='headline']/testcase")
    for row in shown:
        assert row["what"][:15] in printed
        assert row["what"][:30] in markdown.replace("\\", "")
        assert any(case.get("name") == f"{row['level']}: {row['what']}" for case in cases)
    assert [each["question"] for each in form["answers"]] == [
        "faster", "same results", "safe", "merge",
    ]  # fmt: skip
    cases = ElementTree.parse(files["junit"]).findall("testsuite[@name='merge']/testcase")
    sides = (resolve(str(recorded / name)) for name in ("first", "mask"))
    on_pages = comparison_object(compare(*sides))["answers"]
    for each, case, on_page in zip(form["answers"], cases, on_pages, strict=True):
        begin = f"{each['question']}?".ljust(14)
        assert f"{begin} {each['word']}" in printed
        assert each["evidence"][:25] in " ".join(printed.split())
        assert each["evidence"][:15] in markdown.replace("\\", "")
        assert case.get("name") == f"{each['question']}?"
        assert (on_page["word"], on_page["text"][:40]) == (each["word"], each["evidence"][:40])
    assert form["answers"][-1]["word"] == "no"
    assert files["html"].stat().st_size > 100_000
    assert "<details>" in markdown
