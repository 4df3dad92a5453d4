"""`kvtrace gate` records, judges, replays and compares a real program in one command."""

import json
import re
import shutil
import xml.etree.ElementTree as ET

import pytest

from kvtrace.addons.ci.baselines import BASELINES, RECORDED
from kvtrace.cli import command_line, main
from kvtrace.schema.trace import open_trace
from tests.addons.ci.programs import BENCH, LARGER, UNMASKED
from tests.support.warm_python import warm_python

pytestmark = pytest.mark.process

RULES = "findings.new, spills>0, registers>+100%, bytes>+1%"


def gate(*words, program=("bench.py",)):
    return main(["gate", *words, "--", *warm_python().command, *program])


def options_of_other_commands(output):
    """Return options that an output names without their command, and gate does not have."""
    named = re.findall(r"(?<!\w)--[a-z-]+", re.sub(r"kvtrace \w+ [^;)]*", "", output))
    return set(named) - {name for option in command_line("gate").options for name in option.on}


@pytest.fixture
def baseline(project, tmp_path_factory, capsys):
    """Enter a project whose program has a baseline, recorded once for all tests."""
    saved = tmp_path_factory.getbasetemp() / "gate-baselines"
    if not saved.exists():
        assert gate("--save") == 0
        output = capsys.readouterr()
        assert (
            "there was no baseline main yet, so the run is saved without a comparison" in output.out
        )
        assert "saved the run as the baseline main: 1 kernel, 3 launches" in output.out
        shutil.copytree(BASELINES, saved)
    else:
        shutil.copytree(saved, BASELINES)
    return project


def test_missing_baseline_is_an_error_before_the_program_runs(project, capsys):
    (project / "bench.py").write_text("open('ran', 'w')")
    assert gate("--sarif", "gate.sarif", "--markdown", "gate.md", "--against", "v1") == 2
    errors = capsys.readouterr().err
    assert "there is no baseline 'v1'" in errors
    assert "kvtrace gate --save --against v1" in errors
    made = {path.name for path in project.iterdir()}
    assert made.isdisjoint({"ran", "gate.sarif", "gate.md", ".kvtrace"})


def test_the_same_program_breaks_no_rule(baseline, capsys):
    assert gate("--fail-on", RULES) == 0
    output = capsys.readouterr().out
    assert "no difference in 1 kernel" in output
    assert "PASS: none of the --fail-on rules is violated" in output
    # all passes ran, and the second run replaces the first
    assert gate("--fail-on", RULES) == 0
    trace = open_trace(RECORDED)
    assert len(trace.run_ids) == 1
    assert {"tracer", "profiler", "sanitizer"} <= set(trace.passes(trace.run_ids[0]))


def test_defect_fails_the_gate_in_every_output(baseline, capsys):
    (baseline / "bench.py").write_text(UNMASKED)
    forms = {"markdown": "g.md", "html": "g.html", "json": "g.json", "junit": "g.xml"}
    options = [word for name, file in forms.items() for word in (f"--{name}", file)]
    assert gate("--fail-on", RULES, "--sarif", "g.sarif", *options) == 1
    assert "findings.new: add" in capsys.readouterr().out
    assert "findings.new" in (baseline / "g.md").read_text()
    assert "<!doctype html>" in (baseline / "g.html").read_text()[:100].lower()
    (first, *_) = json.loads((baseline / "g.json").read_text())["gate"]["failures"]
    assert (first["rule"], first["what"]) == ("findings.new", "add")
    log = json.loads((baseline / "g.sarif").read_text())
    results = log["runs"][0]["results"]
    answers = json.loads((baseline / "g.json").read_text())["answers"]
    assert log["properties"]["answers"] == answers
    assert answers[-1]["word"] == "no"
    assert "out-of-bounds" in {result["ruleId"] for result in results}
    assert "out-of-bounds" in ET.tostring(ET.parse(baseline / "g.xml").getroot(), "unicode")


def test_project_rules_apply_and_save_replaces_the_baseline(baseline, capsys):
    (baseline / "pyproject.toml").write_text('[tool.kvtrace.diff]\nfail-on = "registers>+0%"\n')
    (baseline / "bench.py").write_text(LARGER)
    assert gate("--save") == 1
    output = capsys.readouterr().out
    assert "registers>+0%: add" in output
    assert "1 kernel, 3 launches; it replaced the one recorded 20" in output
    assert options_of_other_commands(output) == set()
    assert gate() == 0


def test_failing_program_fails_the_gate_and_is_not_saved(baseline, capsys):
    (baseline / "bench.py").write_text(UNMASKED)
    saved = open_trace(BASELINES / "main").run_ids
    assert gate("--save", program=("bench.py", "3")) == 3
    output = capsys.readouterr()
    assert "findings.new: add" in output.out
    assert "the program failed with exit code 3" in output.err
    assert "the run is not saved as the baseline" in output.err
    assert open_trace(BASELINES / "main").run_ids == saved


def test_program_ended_by_a_signal_has_the_exit_code_of_a_shell(project, capsys):
    killed = ("-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert gate("--save", program=killed) == 137
    assert "no kernel of the program was recorded" in capsys.readouterr().err


def test_program_without_kernels_fails_the_gate(project, capsys):
    assert gate("--save", program=("-c", "pass")) == 2
    assert "no kernel of the program was recorded" in capsys.readouterr().err


def test_every_rule_that_needs_no_device_can_be_judged_against_a_baseline(project, capsys):
    sizes = BENCH.replace("n = 1000", "for n in (1000, 2000):").replace("\nx, y", "\n    x, y")
    sizes = sizes.replace("for _ in range(3):\n    add", "    add")
    (project / "bench.py").write_text(sizes)
    assert gate("--save") == 0
    rules = "bounds.narrower, occupancy<-5%, registers>+0, bytes>+0%, flops>+0%, launches>+0"
    assert gate("--fail-on", rules) == 0, capsys.readouterr()
    sooner = sizes.replace("tl.program_id(0) * BLOCK", "tl.program_id(0) * 4 * BLOCK // 4")
    (project / "bench.py").write_text(sooner)  # the product leaves 32 bits four times as soon
    assert gate("--fail-on", "bounds.narrower") == 1
    assert "bounds.narrower: add" in capsys.readouterr().out


def test_ranges_that_are_unknown_on_both_sides_are_not_judged(baseline, capsys):
    assert gate("--fail-on", "bounds.narrower") == 2  # one size was recorded
    assert "bounds.narrower cannot be judged" in capsys.readouterr().err


def test_rule_that_cannot_be_judged_fails_the_gate_unless_optional(baseline, capsys):
    assert gate("--fail-on", "time>+5%") == 2
    assert "time>+5% cannot be judged" in capsys.readouterr().err
    assert gate("--fail-on", "time>+5%?") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gate", "--save", "--", "no-such-program-anywhere"], "cannot be run"),
        (["gate", "--fail-on", "nonsense", "--", "true"], "is not a rule"),
        (["gate", "--against", "a/b", "--", "true"], "cannot name a baseline"),
    ],
)
def test_bad_input_is_a_one_sentence_error_before_anything_runs(project, words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err


SERVING = BENCH.replace("import sys", "import sys\nimport kvtrace", 1)
AFTER_LAUNCHES = "kvtrace.mark('serve')\nadd[(8,)](x, y, out, n, BLOCK=128)\nsys.exit"


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (SERVING.replace("for _", "kvtrace.mark('serve')\nfor _"), 1, "add  - → 1"),
        (SERVING.replace("sys.exit", AFTER_LAUNCHES), 0, "none of the --fail-on rules is violated"),
        (BENCH, 2, "lacks kvtrace.mark('serve')"),
    ],
)
def test_launches_that_wait_for_a_kernel_while_serving_fail_the_gate(
    baseline, capsys, program, code, said
):
    (baseline / "bench.py").write_text(program)
    assert gate("--fail-on", "compiled_after_warmup>0") == code
    output = capsys.readouterr()
    assert said in output.out + output.err
