"""Makes the index of the rules' pages from their table: `python -m kvtrace.verdicts.document`."""

from pathlib import Path
from typing import Final

from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, KernelRule, Rule

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "rules"
INDEX: Final = FOLDER / "README.md"

_INTRODUCTION: Final = """\
# Rules

<!-- Made from kvtrace/verdicts/rules/table.py by `python -m kvtrace.verdicts.document`. -->

What `kvtrace sanitize` judges each distinct call by; `pipeline-order` judges what Triton's passes
made of each kernel. Each page has a bad and a good kernel, which a test judges.
[Sanitizing](../sanitize.md) says how to ask, and what comes out. Kernels of add-ons are judged by
rules of their own while they run, which the add-ons' pages list. They are named, chosen and
suppressed like these.
What a device computed is compared by `kvtrace check`, whose findings are `wrong-result` and
`first-non-finite`: [checks](../check.md#answers).

| rule | severity | by default | what it finds |
|---|---|---|---|
"""

_COMMENTS: Final = """
## Comments that suppress

```python
values = tl.load(source + offsets)  # kvtrace: ignore[out-of-bounds] the allocator pads
```

- The comment counts for the statement that it stands in, however many lines that has; on a line of
  its own, for the statement right below it.
- Several rules are separated by commas; `ignore` without rules counts for every rule. What follows
  is the reason, and is shown with the finding.
- Of a function that was inlined each frame is looked at: a comment at the call suppresses what was
  inlined there, one in the function itself suppresses it for every caller.
- A finding that is suppressed is counted and shown as such, and does not fail. That holds for what
  is unknown, too (`--strict`).
- A comment that suppresses nothing is told as a note (`unused-ignore`), and so is one that names a
  rule that there is not. Only kernels that the trace has, and rules that were judged by, count.
- Comments are read from the source that was recorded. Without it (`KVTRACE_SOURCE=0`) none count.
"""


def index_text() -> str:
    """Return the text of docs/rules/README.md."""
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
