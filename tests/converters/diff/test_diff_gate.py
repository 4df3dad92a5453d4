"""Rules that a difference must not break."""

import json

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import compare
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.schema.errors import BadSetting
from tests.converters.compared_kernels import LINE_3, OTHER, SCALE, finding
from tests.converters.written_trace import Launches, add_findings, write_trace
from tests.support.replacing import replace
from tests.support.tiers import some


@pytest.fixture
def broken(tmp_path):
    """Write two traces of kernels; return what breaks rules: rule, kernel and figures."""

    def judge(rules, before, after):
        sides = [write_trace(tmp_path / name, k) for name, k in (("a", before), ("b", after))]
        gate = Gate(read_rules([rules]))
        compare(*sides, gate=gate)
        assert gate.missing() == []
        return [
            (failure.rule, failure.what.split(" (")[0], failure.text) for failure in gate.failures
        ]

    return judge


@pytest.mark.parametrize(
    "told",
    some([
        ("registers>+10%", "32 → 40 (+25.0%)"), ("registers>+7", "32 → 40 (+25.0%)"),
        ("registers>39", "32 → 40 (+25.0%)"), ("registers>+25%", None), ("registers>+8", None),
        ("registers>40", None), ("registers<-1", None), ("registers<41", "32 → 40 (+25.0%)"),
    ], 4),
)  # fmt: skip
def test_rule_on_registers_is_checked(broken, told):
    rule, text = told
    found = broken(
        rule, [replace(SCALE, registers=32), OTHER], [replace(SCALE, registers=40), OTHER]
    )
    ours = [(of, text) for _, of, text in found if of == "scale"]
    assert ours == ([] if text is None else [("scale", text)])


def test_a_smaller_figure_violates_a_rule_on_reduction(broken):
    found = broken("registers<-10%", [replace(SCALE, registers=40)], [replace(SCALE, registers=32)])
    assert found == [("registers<-10%", "scale", "40 → 32 (-20.0%)")]


def test_spills_of_a_new_kernel_are_checked(broken):
    spilling = replace(OTHER, spills=4)
    assert broken("spills>0", [SCALE], [SCALE, spilling]) == [("spills>0", "softmax", "- → 4")]


def test_existing_spills_violate_a_bound_and_not_a_growth_rule(broken):
    spilling = replace(SCALE, spills=4)
    assert [of for _, of, _ in broken("spills>0, spills>+0", [spilling], [spilling])] == ["scale"]


def test_increase_from_zero_violates_a_growth_rule(broken):
    assert broken("spills>+10%", [replace(SCALE, spills=0)], [replace(SCALE, spills=2)])


@pytest.fixture
def timed(tmp_path):
    """Judge a rule on two kernels that differ in the times of their launches, in microseconds."""

    def judge(rule, before, after, **settings):
        run = {"host": "one", "devices": [{"index": 0, "name": "H200"}], **settings}
        sides = [
            write_trace(
                tmp_path / name,
                [replace(SCALE, calls=(Launches(number=20, host_us=us, device_us=us),))],
                **run,
            )
            for name, us in (("a", before), ("b", after))
        ]
        gate = Gate(read_rules([rule]))
        compare(*sides, gate=gate)
        return gate.missing(), [(failure.what, failure.text) for failure in gate.failures]

    return judge


@pytest.mark.parametrize("figure", ["time", "host"])
def test_significantly_increased_median_violates_a_rule(timed, figure):
    assert timed(f"{figure}>+30%", 10, 12) == ([], [])
    slower = [("scale", "10.0 µs → 12.0 µs (+20.0%)")]
    assert timed(f"{figure}>+5%", 10, 12) == ([], slower)


def test_incomparable_times_are_not_checked(timed):
    assert timed("host>+5%", 10, 12, devices=[]) == (["host>+5%"], [])
    assert timed("host>5", 10, 12, devices=[])[0] == []  # a bound of AFTER needs no BEFORE


def test_decreased_occupancy_violates_a_rule(broken):
    kernel = replace(SCALE, shared_bytes=0)
    (found,) = broken("occupancy<-5%", [kernel], [replace(kernel, registers=255)])
    assert found == ("occupancy<-5%", "scale", "100.0 % → 12.5 % (-87.5%)")


def test_narrowed_bound_violates_a_rule(tmp_path):
    from kvtrace.converters.findings.conditions import KernelConditions
    from kvtrace.converters.findings.envelope import EnvelopeRow

    def conditions(row):
        return [KernelConditions("scale", None, None, (), envelope=(row,))]

    sides = [write_trace(tmp_path / name, [SCALE]) for name in "ab"]
    whole = EnvelopeRow("n", 10, "argument", 2**31, low=-(2**31))
    rows = [
        whole,  # another variant is no bound
        EnvelopeRow("n", 10, "overflow", 1_000, "x * n does not fit into 32 bits"),
        EnvelopeRow("n", 10, "unknown", reason="not decided"),
        replace(whole, low=-4, last_bad=-5, below_kind="tensor", below="the load leaves x"),
        replace(whole, low=0, last_bad=-1, below_kind="tensor", below="the load leaves x"),
        replace(whole, low=0, last_bad=-1, below_kind="constants"),  # another variant, again
        replace(whole, low=0, below_kind="unknown", below="not decided"),
        EnvelopeRow("n", 10, "overflow", 900, base="m = 9", bases=("m = 9", "m = 4")),
        EnvelopeRow("n", 10, "overflow", 800, base="m = 4", bases=("m = 4",)),
        EnvelopeRow("n", 10, "overflow", 700, base="m = 16", bases=("m = 16",)),
        EnvelopeRow("n", 10, "overflow", 1_000, "x * n wraps", reason="x.shape[0] is not known"),
        EnvelopeRow("n", 10, "overflow", 500, "x * n wraps", reason="x.shape[0] is not known"),
    ]
    for before, after, failures in (
        (0, 1, ["n: first bad: no limit → 1,000"]),
        (1, 0, []),
        (1, 2, []),
        (3, 4, ["n: bad below: -5 → -1"]),
        (0, 3, ["n: bad below: no limit → -5"]),
        (4, 3, []),
        (5, 0, []),
        (3, 6, []),
        (7, 8, ["n: first bad: 900 → 800"]),
        (7, 9, []),  # of more columns, which BEFORE did not have
        (9, 7, []),
        (10, 10, []),  # what is below 1,000 was judged on neither side
        (10, 11, ["n: first bad: 1,000 → 500"]),
    ):
        gate = Gate(read_rules(["bounds.narrower"]))
        given = conditions(rows[before]), conditions(rows[after])
        compare(*sides, gate=gate, conditions=given)
        is_judged = (before, after) not in ((1, 2), (7, 9), (9, 7), (10, 10))
        assert gate.missing() == ([] if is_judged else ["bounds.narrower"])
        assert [failure.text for failure in gate.failures] == failures
    gate = Gate(read_rules(["bounds.narrower"]))
    compare(*sides, gate=gate)
    assert gate.missing() == ["bounds.narrower"]


@pytest.mark.parametrize("variants", [1, 2])
def test_a_mask_that_matters_at_other_sizes_alone_is_no_difference_but_is_named(tmp_path, variants):
    """A mask was removed in a branch, which only one of the kernel's variants has."""
    from kvtrace.converters.findings.conditions import AccessLine, KernelConditions

    def conditions(condition):
        access = AccessLine("load", "x_ptr", None, 3, condition)
        others = [KernelConditions("scale", None, None, ())] * (variants - 1)
        return [*others, KernelConditions("scale", None, None, (access,))]

    sides = [write_trace(tmp_path / name, [SCALE]) for name in "ab"]
    for side in sides:
        add_findings(side, [], [LINE_3])
    texts = "min(n, 64) <= extent(x)", "64 <= extent(x)"
    difference = compare(*sides, conditions=tuple(map(conditions, texts)))
    (bound,) = difference.bounds
    assert (bound.before, bound.after) == texts
    assert difference.answers[2].evidence.endswith("conditions of 1 access changed (-v)")
    same = compare(*sides, conditions=(conditions(texts[0]), conditions(texts[0])))
    assert "conditions of" not in same.answers[2].evidence
    known = replace(bound, before="unknown", after=None)
    assert not known.is_condition  # a bound that was unknown, and is none


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("register>0", "is not a rule: write a figure .findings.new, bounds.narrower, results"),
        ("spills", "needs one"),
        ("findings.new>0", "have no limit"), ("time>5%", "a percentage needs a sign"),
        ("time>-5%", "write >\\+ for growth"), ("spills>0; x", "is not a rule"), ("", None),
    ],
)  # fmt: skip
def test_invalid_rule_raises_an_error_with_the_reason(text, problem):
    if problem is None:
        assert read_rules([text]) == []
        return
    with pytest.raises(BadSetting, match=problem):
        read_rules([text])


@pytest.fixture
def judged(tmp_path):
    sides = [write_trace(tmp_path / name, [SCALE]) for name in "ab"]
    add_findings(sides[0], [], [LINE_3])
    add_findings(sides[1], [finding("x", LINE_3)], [LINE_3])
    return [str(side.trace.path) for side in sides]


def test_a_new_finding_fails_the_command_and_stands_in_every_output(judged, capsys):
    rules = ["--fail-on", "findings.new", "--no-replay"]
    assert main(["diff", *judged, *rules]) == 1
    assert "FAIL: 1 rule violated (--fail-on)" in capsys.readouterr().out
    assert main(["diff", *judged, *rules, "--markdown", "-"]) == 1
    assert capsys.readouterr().out.startswith("### ❌ Merge? no: a finding is new")
    assert main(["diff", *judged, *rules, "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["gate"]["failures"]
    assert (failure["rule"], failure["what"]) == ("findings.new", "scale")
    assert main(["diff", *reversed(judged), *rules]) == 0
    assert "PASS: none of the --fail-on rules is violated" in capsys.readouterr().out


@pytest.mark.parametrize("rule", ["findings.new", "time>+5%", "bytes>+1%"])
def test_a_rule_without_its_figure_is_an_error_unless_it_ends_in_a_question_mark(
    tmp_path, rule, capsys
):
    one = str(write_trace(tmp_path / "a", [SCALE]).trace.path)
    assert main(["diff", one, one, "--no-replay", "--fail-on", rule]) == 2
    assert "cannot be judged" in capsys.readouterr().err
    assert main(["diff", one, one, "--no-replay", "--fail-on", f"{rule}?"]) == 0


def test_rules_of_the_project_are_in_its_settings(judged, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.kvtrace.diff]\nfail-on = ["findings.new"]\n')
    assert main(["diff", *judged, "--no-replay"]) == 1
    assert "(--fail-on)" in capsys.readouterr().out
    assert main(["diff", *judged, "--no-replay", "--fail-on", "spills>0?"]) == 1  # it is not safe
    assert "(--fail-on)" not in capsys.readouterr().out
    settings.write_text("[tool.kvtrace.diff]\nfail-on = 3\n")
    assert main(["diff", *judged, "--no-replay"]) == 2
    settings.write_text("[tool.kvtrace")
    assert main(["diff", *judged, "--no-replay"]) == 2
    assert "Traceback" not in capsys.readouterr().err
