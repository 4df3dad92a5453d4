"""The rule `not-invariant`: by a contract in the source, or asked for by its name."""

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtrace.addons.invariance.contracts import contracts_of
from kvtrace.addons.invariance.findings import RULE
from kvtrace.analysis.judging import judge_runs
from kvtrace.cli import main
from kvtrace.converters.findings import Finding
from kvtrace.schema.trace import Selection
from tests.addons.invariance.contracted import (
    above_decorators,
    above_def,
    apart,
    broken,
    kept,
    launch,
    misnamed,
    unasked,
)
from tests.support.tree import ROOT

Recorded = Callable[[Callable[[], object]], Selection]


def of_rule(selection: Selection, *names: str) -> list[Finding]:
    judged = judge_runs(selection, names or ("default",), proven=True)
    return [found for found in judged.listed if found.rule == RULE]


def test_contracts_are_read_from_comments_only(recorded: Recorded) -> None:
    selection = recorded(lambda: [launch(each, 3) for each in (kept, broken, unasked)])

    found = contracts_of(selection.trace, selection.runs)

    assert {name: each.over for name, each in found.items()} == {"kept": "M", "broken": "M"}


def test_contract_between_decorator_and_def_belongs_to_the_kernel(recorded: Recorded) -> None:
    selection = recorded(lambda: [launch(each, 3, 5) for each in (unasked, above_def)])

    found = contracts_of(selection.trace, selection.runs)

    assert {name: each.over for name, each in found.items()} == {"above_def": "M"}
    assert [(each.kernel, each.verdict) for each in of_rule(selection)] == [("above_def", "proven")]


def test_contract_right_above_decorators_belongs_to_the_kernel(recorded: Recorded) -> None:
    selection = recorded(lambda: [launch(each, 3, 5) for each in (above_decorators, apart)])

    found = contracts_of(selection.trace, selection.runs)

    assert {name: each.over for name, each in found.items()} == {"above_decorators": "M"}
    (finding,) = of_rule(selection)
    assert (finding.kernel, finding.verdict) == ("above_decorators", "violation")


def test_kept_contract_is_a_proven_finding(recorded: Recorded) -> None:
    (found,) = of_rule(recorded(lambda: launch(kept, 3, 5)))

    assert (found.verdict, found.kernel, found.arg) == ("proven", "kept", "y")
    assert "over M" in str(found.message)
    assert "by its IR" in str(found.message)


def test_broken_contract_is_an_error_with_two_values(recorded: Recorded) -> None:
    (found,) = of_rule(recorded(lambda: launch(broken, 3, 5)))

    assert (found.verdict, found.severity, found.arg) == ("violation", "error", "y")
    assert "by the evaluator" in str(found.message)
    assert found.file is not None
    assert found.file.endswith("contracted.py")


def test_unknown_verdict_is_a_warning_with_a_reason(recorded: Recorded) -> None:
    (found,) = of_rule(recorded(lambda: launch(misnamed, 3, 5)))

    assert (found.verdict, found.severity) == ("unknown", "warning")
    assert "BATCH is not an argument" in str(found.reason)


def test_kernel_without_contract_is_judged_if_the_rule_is_selected(recorded: Recorded) -> None:
    selection = recorded(lambda: launch(unasked, 3, 5))

    assert of_rule(selection) == []
    assert [found.verdict for found in of_rule(selection, RULE)] == ["violation"]
    assert of_rule(selection) == []  # and what was found before is gone
    assert of_rule(selection, "default", f"-{RULE}") == []


def test_sanitize_fails_for_a_broken_contract_in_every_format(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(recorded(lambda: launch(broken, 3, 5)).trace.path)
    junit = tmp_path / "findings.xml"

    assert main(["sanitize", trace, "--blocks"]) == 1
    assert f"error[{RULE}]" in capsys.readouterr().out
    assert main(["sanitize", trace, "--sarif", "--junit", str(junit)]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert RULE in {result["ruleId"] for result in run["results"]}
    assert RULE in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert RULE in junit.read_text()
    assert main(["sanitize", trace, "--no-rule", RULE]) == 0


@pytest.mark.parametrize(("section", "verdict"), [("Bad", "violation"), ("Good", "proven")])
def test_examples_of_the_rule_page_have_the_stated_verdicts(
    section: str, verdict: str, recorded: Recorded, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "rules" / f"{RULE}.md").read_text(encoding="utf-8")
    code = re.search(rf"## {section}\n\n```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    file = tmp_path / f"{section}.py"
    file.write_text(f"import torch, triton\nimport triton.language as tl\n\n{code[1]}")

    (found,) = of_rule(recorded(lambda: runpy.run_path(str(file))))

    assert found.verdict == verdict
