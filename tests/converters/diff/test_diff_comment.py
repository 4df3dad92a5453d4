"""A difference as a comment of a pull request: the verdict first, causes before consequences."""

import pytest

from kvtrace.addons.ci.commands.gate import DEFAULT_RULES
from kvtrace.converters.diff import compare, headline_text
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.markdown import difference_markdown
from kvtrace.converters.diff.outputs import Outputs, with_shown_paths, write_outputs
from kvtrace.text import display_width
from tests.converters.compared_kernels import LINE_3, OTHER, SCALE, finding
from tests.converters.written_trace import Launches, Op, add_findings, add_ops, write_trace
from tests.support.replacing import replace


@pytest.fixture
def judged(tmp_path):
    """Write two traces, judge them by rules, and return the difference and the gate."""

    def judge(before, after, rules=DEFAULT_RULES, **files):
        sides = [
            write_trace(tmp_path / name, [k]) for name, (k, _) in (("a", before), ("b", after))
        ]
        for side, (_, work) in zip(sides, (before, after), strict=True):
            add_ops(side, work, **files)
            add_findings(side, [], [LINE_3])
        gate = Gate(read_rules(rules))
        return compare(*sides, gate=gate, labels=("baseline main", "this run")), gate, sides

    return judge


def launched(number, **changes):
    return replace(SCALE, calls=(Launches(number=number),), **changes)


def work(size_bytes=4_000, flops=1_000, call_id=0):
    return [Op(call_id, 3, "load", 12, {"bytes": size_bytes, "flops": flops})]


def test_the_verdict_is_the_first_line_and_what_violates_it_the_next(judged):
    found, gate, _ = judged((launched(3), work()), (launched(3), work(flops=1_110)))
    lines = difference_markdown(found, gate)
    assert lines[0] == "### ❌ Merge? no: flops/launch&gt;+5%? is violated"
    assert "Rules: 1 rule violated." in lines
    assert "- `flops/launch>+5%?`: `scale` 1,000 → 1,110 (+11.0%)" in lines


def test_failed_program_is_the_verdict_in_the_first_line(judged):
    _, _, sides = judged((launched(3), work()), (launched(3), work()))
    gate = Gate([], problem="the program failed with exit code 3")
    found = compare(*sides, gate=gate)
    assert difference_markdown(found, gate)[0] == (
        "### ❌ Merge? no: the program failed with exit code 3"
    )


def test_equal_programs_pass_in_the_first_line(judged):
    found, gate, _ = judged((launched(3), work()), (launched(3), work()))
    assert difference_markdown(found, gate)[0] == (
        "### ✅ Merge? yes: the same results, no new finding"
    )


@pytest.mark.parametrize(
    ("changes", "more", "rule"),
    [({"registers": 36}, {}, "registers>+10%?"), ({}, {"flops": 1_110}, "flops/launch>+5%?"),
     ({}, {"size_bytes": 4_400}, "bytes/launch>+5%?"), ({"spills": 2}, {}, "spills>+0?"),
     ({"registers": 35}, {"flops": 1_040}, None)],
)  # fmt: skip
def test_default_rules_fail_on_growth_of_resources_and_work(judged, changes, more, rule):
    """32 registers and no spill before: 36 are 13 % more, 35 are 9 %."""
    before = launched(3, registers=32, spills=0)
    found, gate, _ = judged((before, work()), (replace(before, **changes), work(**more)))
    assert [failure.rule for failure in gate.failures] == ([] if rule is None else [rule])
    if rule is None:
        assert "- 2 changes for the worse, which the rules allow (see below)" in (
            difference_markdown(found, gate)
        )


def test_more_launches_are_listed_before_the_bytes_they_cause(judged):
    sides = (launched(3), work()), (launched(6), work())
    found, gate, _ = judged(*sides)
    assert gate.verdict[0]  # a launch does what it did
    rows = [(row.what, row.after) for row in found.headline]
    assert rows[-3:] == [
        ("launches", "6"), ("bytes", "23.4 KiB (per launch the same)"),
        ("FLOPs", "6,000 (per launch the same)"),
    ]  # fmt: skip
    _, gate, _ = judged(*sides, rules=["bytes>+1%"])
    assert gate.failures[0].text == "launches 3 → 6; 11.7 KiB → 23.4 KiB (+100.0%)"


def test_other_shapes_are_not_compared_per_launch(judged):
    larger = replace(SCALE, calls=(Launches(number=3, shape=(2_000,), scalar="2000"),))
    _, gate, _ = judged((launched(3), work()), (larger, work(8_000)))
    assert gate.failures == []
    assert set(gate.skipped()) == {
        "results?", "spills>+0?", "bytes/launch>+5%?", "flops/launch>+5%?",
    }  # fmt: skip


def test_the_comment_has_no_absolute_path(judged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = str(tmp_path / "kernels" / "scale.py")
    before = launched(3, file=own, source="def scale(x):\n    pass\n")
    after = replace(before, source="def scale(x):\n    return\n", registers=64)
    found, gate, sides = judged((before, work()), (after, work()), file=own)
    add_findings(
        sides[1], [finding("x", [(own, 12, 14, "scale")])], [[(own, 12, 14, "scale")][0:1]]
    )
    labels = tuple(str(side.trace.path) for side in sides)
    found = compare(*sides, labels=labels, gate=gate)
    told = []
    lines = write_outputs(found, Outputs(markdown="-"), tuple(sides), gate=gate, tell=told.append)
    text = "\n".join(lines)
    assert "kernels/scale.py" in text
    assert str(tmp_path) not in text
    assert "/home/" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/srv/repo/a/b.py:3", "a/b.py:3"), ("(/opt/venv/lib/site-packages/x/y.py:1)", "(x/y.py:1)"),
     ("/var/torchinductor_me/ab/cab.py", "…/ab/cab.py"), ("a / b", "a / b"), ("x/y.py", "x/y.py"),
     ("https://host/a/b", "https://host/a/b"), ("/srv/repo/", "."), ("12 / 3", "12 / 3")],
)  # fmt: skip
def test_paths_in_text_are_shown_without_the_checkout_folder(text, shown):
    assert with_shown_paths((text,), ["/srv/repo"]) == (shown,)


def test_long_similar_names_stay_distinct_at_80_columns(tmp_path):
    names = [f"triton_poi_fused_{way}_clone_expand_unsqueeze_view_0" for way in ("add", "mul")]
    sides = [
        write_trace(tmp_path / side, [replace(OTHER, name=name, registers=n) for name in names])
        for side, n in (("a", 32), ("b", 64))
    ]
    lines = headline_text(compare(*sides), width=80)
    head = next(line for line in lines if line.startswith("kernel "))
    rows = lines[lines.index(head) + 1 : lines.index("", lines.index(head))]
    room = head.index("what changed")
    shown = "".join(line[:room].strip() for line in rows)
    assert all(name in shown for name in names)
    assert max(map(display_width, (head, *rows))) <= 80
