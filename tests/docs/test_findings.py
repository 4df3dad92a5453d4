"""Each finding about other software is relied on: by a file that it names, and that names it."""

import re
from pathlib import Path

import pytest

from tests.support.tree import ROOT

FINDINGS = sorted((ROOT / "findings").glob("*.sh"))


@pytest.mark.parametrize("script", FINDINGS, ids=lambda script: script.stem)
def test_what_a_finding_names_relies_on_it(script: Path) -> None:
    relying = re.fullmatch(r"# Relied on by: (\S+)", script.read_text("utf-8").split("\n")[2])
    assert relying
    assert f"findings/{script.name}" in (ROOT / relying[1]).read_text("utf-8")


def test_list_of_findings_has_each_once() -> None:
    text = (ROOT / "findings" / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| \[(\w+\.sh)\]", text, re.M)) == [each.name for each in FINDINGS]
