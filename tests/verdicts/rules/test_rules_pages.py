"""Each rule has a page, and what the page says of its kernels is so."""

import importlib.util
import itertools
import re
import sys
from typing import Any

import pytest
import triton
import triton.language as tl

import kvtrace
from docs_site.rules_index import FOLDER, INDEX, index_text
from kvtrace.backends.compiled_kernels import call_judge
from kvtrace.schema.errors import KernelDefect
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES
from tests.support.tiers import some
from tests.verdicts.calls import call, tensor

PRELUDE = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SECTIONS = ["Bad", "Good", "How it is decided", "How to suppress it"]
COVERS = "What proven covers"
QUESTIONS = ("memory", "program", "TT", "device|GPU|Hardware")
"""Which memory, which programs, which stage of the compiler, which hardware."""
_numbers = itertools.count()


def page_of(rule: str) -> str:
    return (FOLDER / f"{rule}.md").read_text(encoding="utf-8")


def code_of(rule: str, section: str) -> str:
    found = re.search(rf"## {section}\n\n```python\n(.*?)```", page_of(rule), re.DOTALL)
    assert found is not None
    return found[1]


def verdicts_of(rule: str, section: str, folder) -> set[str]:
    """Run a page's kernel, judged by the rule before its launch; give the rule's verdicts."""
    run = program_of(rule, section, folder)
    raised = False
    target = {"target": "hip:gfx942"} if rule == "buffer-range" else {}
    out = folder / "out"
    with kvtrace.capture(out, sanitize="raise", rules=rule, tensors="all", **target):
        try:
            run()
        except KernelDefect:
            raised = True
    rows = open_trace(folder / "out").table("findings", columns=["rule", "verdict"]).to_pylist()
    verdicts = {row["verdict"] for row in rows if row["rule"] == rule}
    assert raised == ("violation" in verdicts and RULES[rule].severity == "error")
    return verdicts


def program_of(rule: str, section: str, folder):
    """What runs a page's kernel."""
    source = folder / f"page_{next(_numbers)}.py"
    source.write_text(PRELUDE + code_of(rule, section), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(source.stem, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[source.stem] = module
    return lambda: spec.loader.exec_module(module)


def kernel_verdicts_of(rule: str, section: str, folder) -> tuple[set[str], str]:
    """Run a page's kernel, and judge its TTGIR by the rule; give the verdicts, and the TTGIR."""
    with kvtrace.capture(folder / "out"):
        program_of(rule, section, folder)()
    trace = kvtrace.open(folder / "out")
    found = {finding.verdict for finding in trace.sanitize(rule, proven=True)}
    (kernel,) = open_trace(folder / "out").table("kernels", columns=["stages"]).to_pylist()
    (digest,) = [each["artifact"] for each in kernel["stages"] if each["stage"] == "ttgir"]
    return found, open_trace(folder / "out").artifact(digest).decode()


@pytest.fixture(autouse=True)
def all_the_time_there_is(monkeypatch):
    """Judge as `kvtrace sanitize` does: evaluate what formulas leave open."""
    monkeypatch.setattr(call_judge, "BUDGET", Budget())
    monkeypatch.setattr(call_judge, "BUDGET_OF_CONTENTS", Budget())


def test_the_index_is_made_from_the_table_of_rules():
    assert INDEX.read_text(encoding="utf-8") == index_text(), (
        "rules changed: run python -m docs_site.rules_index"
    )


@pytest.mark.parametrize("rule", [*RULES, *KERNEL_RULES])
def test_each_rule_has_a_whole_page(rule):
    page = page_of(rule)
    assert page.startswith(f"# {rule}\n\n")
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [section for section in sections if section != COVERS] == SECTIONS
    assert f"kvtrace: ignore[{rule}]" in page
    for target in re.findall(r"\]\(([^)#]+\.md)\)", page):
        assert (FOLDER / target).is_file(), target


@pytest.mark.parametrize("rule", [*RULES, *KERNEL_RULES])
def test_each_page_says_what_its_proven_covers(rule):
    found = re.search(
        rf"## {COVERS}\n\n(.*?)\n\n## |\n(\*Proven\* .*?)\n\n", page_of(rule), re.DOTALL
    )
    assert found is not None
    said = found[1] or found[2]  # a section, or a paragraph of its own
    for question in QUESTIONS:
        assert re.search(question, said, re.IGNORECASE), question
    listed = re.findall(r"^- \*\*(\w+)\*\*: ", said, re.MULTILINE)
    assert listed in ([], ["Memory", "Programs", "Stage", "Hardware"])
    assert listed or "*proven*" in said.lower()


def test_the_limits_say_what_proven_covers_and_where_it_is_written():
    readme = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    limits = readme.partition("## Limits\n")[2].partition("\n## ")[0]
    assert COVERS in limits
    assert "(docs/rules/README.md)" in limits


@pytest.mark.parametrize("rule", some(list(RULES), 4))
def test_the_bad_kernel_of_a_rules_page_is_a_violation(rule, tmp_path):
    assert "violation" in verdicts_of(rule, "Bad", tmp_path)


@pytest.mark.parametrize("rule", some(list(RULES), 4))
def test_the_good_kernel_of_a_rules_page_is_no_violation(rule, tmp_path):
    assert "violation" not in verdicts_of(rule, "Good", tmp_path)


@triton.jit
def shifted(out, amount, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, lanes >> amount)


@pytest.mark.parametrize(
    ("amount", "answer"), [(31, "proven"), (32, "violation"), (-1, "violation")]
)
def test_the_example_rule_for_contributors_judges(amount, answer):
    page = (FOLDER.parent / "contributing" / "where.md").read_text(encoding="utf-8")
    code = re.search(r"^# kvtrace/verdicts/rules/shifts.py\n(.*?)^```", page, re.M | re.S)
    rule: dict[str, Any] = {}
    exec(code[1], rule)

    of_call = call(shifted, (4,), out=tensor(64), amount=amount, BLOCK=16)
    (verdict,) = rule["judge"](BoundCall(of_call))

    assert verdict.verdict == answer
    assert (verdict.program is not None) == (answer == "violation")


@pytest.mark.process
@pytest.mark.parametrize("rule", KERNEL_RULES)
def test_a_kernel_that_triton_miscompiles_is_a_violation(rule, tmp_path):
    verdicts, ttgir = kernel_verdicts_of(rule, "Bad", tmp_path)
    spoilt = len(set(re.findall(r"memdesc<(\d)x64x64xf16", ttgir))) > 1  # not by every Triton
    assert verdicts == ({"violation"} if spoilt else {"proven"})


@pytest.mark.process
@pytest.mark.parametrize("rule", KERNEL_RULES)
def test_a_kernel_that_triton_compiles_correctly_is_proven(rule, tmp_path):
    assert kernel_verdicts_of(rule, "Good", tmp_path)[0] == {"proven"}
