"""Generator of the tables in docs/needs.md: `python -m docs_site.needs`."""

from collections.abc import Iterator
from importlib import import_module
from typing import Final

from docs_site.repository import ROOT, with_parts
from kvtrace.cli import own_commands
from kvtrace.cli.needs import Needs
from kvtrace.verdicts.unknown_fields import RULE_FIELDS, STANDS_IN

PAGE: Final = ROOT / "docs" / "needs.md"


def declared_needs() -> dict[str, Needs]:
    """Return the columns that each command needs by table, for commands that declare it."""
    modules = {name: import_module(command.module) for name, command in own_commands().items()}
    return {name: module.NEEDS for name, module in modules.items() if hasattr(module, "NEEDS")}


def page_text() -> str:
    """Return the text of docs/needs.md with its tables generated from commands and rules."""
    commands: dict[str, list[str]] = {}
    for name, needs in _sorted_needs():
        commands.setdefault(", ".join(_columns(needs)), []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {columns} |" for columns, names in commands.items()]
    table = "\n".join(["| commands | need |", "|---|---|", *rows])
    return with_parts(PAGE, {"needs": table, "fields": _fields_table()})


def _fields_table() -> str:
    """Return the table of the fields of `calls.args` that rules read, and what null means."""
    rules: dict[str, list[str]] = {}
    for rule, fields in RULE_FIELDS.items():
        for field in fields:
            rules.setdefault(field, []).append(f"`{rule}`")
    rows = [
        f"| `{name}` | {STANDS_IN[name]} | {', '.join(rules.get(name, ()))} |" for name in STANDS_IN
    ]
    return "\n".join(
        ["| null field | judged with | then unknown at best |", "|---|---|---|", *rows]
    )


def _sorted_needs() -> list[tuple[str, Needs]]:
    return sorted(declared_needs().items(), key=lambda item: (len(item[1]), item[0]))


def _columns(needs: Needs) -> Iterator[str]:
    if not needs:
        yield "nothing more"
    for table, columns in needs.items():
        yield from (f"`{table}.{column}`" for column in columns)
        if not columns:
            yield f"the table `{table}`"


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
