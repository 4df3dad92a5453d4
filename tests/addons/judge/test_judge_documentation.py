"""docs/agents.md: its kernel, its findings, its tools and options."""

import re
from pathlib import Path

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request, entry_of, read_file
from tests.addons.judge.labeled import FOLDER

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


@pytest.mark.process
def test_kernel_in_the_documentation_is_judged_right(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "relu.py"
    path.write_text(block, encoding="utf-8")
    request = Request(entry_of(read_file(path), None), Place(FOLDER / "references.py", "relu"))
    assert judge_file(request).verdict == "right"


def test_documentation_lists_every_finding_of_judge():
    texts = [path.read_text() for path in (ROOT / "kvtrace" / "addons" / "judge").glob("*.py")]
    rules = {
        rule
        for text in texts
        for rule in re.findall(
            r'(?:self\._add_problem|Problem|Defect|_unjudged)\(\s*"([\w-]+)"', text
        )
    }
    assert len(rules) > 10
    assert sorted(rule for rule in rules if f"`{rule}`" not in PAGE) == []


def test_documentation_lists_every_option_of_judge_in_mcp():
    from kvtrace.addons.judge.commands.mcp import Tools

    row = next(line for line in PAGE.splitlines() if line.startswith("| `judge`"))
    _, *names = Tools.judge.__code__.co_varnames[: Tools.judge.__code__.co_argcount]
    assert [name for name in names if f"`{name}`" not in row] == []
