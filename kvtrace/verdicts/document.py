"""Generator of the index of the rules' pages: `python -m kvtrace.verdicts.document`."""

from pathlib import Path
from typing import Final

from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, KernelRule, Rule

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "rules"
INDEX: Final = FOLDER / "README.md"

_INTRODUCTION: Final = """\
# Rules

<!-- Made from kvtrace/verdicts/rules/table.py by `python -m kvtrace.verdicts.document`. -->

`kvtrace sanitize` applies these rules to each unique call, and `pipeline-order` to the TTGIR of
each kernel. Each page has a kernel that violates the rule and one that satisfies it; a test judges
both. [Sanitizing](../sanitize.md) explains the command and its output. Add-ons have separate rules
for their kernels, applied while the kernels run and listed on the add-ons' pages. They are named,
chosen and suppressed like these. `kvtrace check` compares what a device computed; its findings are
`wrong-result` and `first-non-finite`: [checks](../check.md#answers).

| rule | severity | by default | what it finds |
|---|---|---|---|
"""

_COMMENTS: Final = """
## Comments that suppress

```python
values = tl.load(source + offsets)  # kvtrace: ignore[out-of-bounds] the allocator pads
```

- The comment applies to the statement that contains it, over all of its lines. On a separate line,
  it applies to the statement right below.
- Separate several rules by commas; `ignore` without rules applies to every rule. The text after it
  is the reason, which is shown with the finding.
- If a function was inlined, every frame counts: a comment at the call suppresses what was inlined
  there, and a comment in the function suppresses it for every caller.
- A suppressed finding is counted and shown as suppressed, and does not fail the command. The same
  holds for a suppressed *unknown* (`--strict`).
- A comment that suppresses nothing is reported as a note (`unused-ignore`), and so is one that
  names an unknown rule. Only kernels in the trace and rules that were applied count.
- Comments are read from the recorded source. Without it (`KVTRACE_SOURCE=0`) none apply.

For all kernels of a run: `kvtrace sanitize --no-rule ID`, or `KVTRACE_RULES=-ID`.
"""


def index_text() -> str:
    """Return the text of docs/rules/README.md, with one table row per rule."""
    rules: list[Rule | KernelRule] = [*RULES.values(), *KERNEL_RULES.values()]
    rows = [
        f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {'yes' if rule.default else 'no'} "
        f"| {rule.summary} |"
        for rule in rules
    ]
    return _INTRODUCTION + "\n".join(rows) + "\n" + _COMMENTS


if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
    print(f"wrote {INDEX.name}")
