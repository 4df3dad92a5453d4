"""Generator of the tables in docs/settings.md: `python -m docs_site.variables`."""

import re
from inspect import cleandoc
from typing import Any, Final

from docs_site.repository import ROOT, with_parts
from kvtrace.settings import DEFAULT, Settings, added_settings, other_variables

PAGE: Final = ROOT / "docs" / "settings.md"


def page_text() -> str:
    """Return the text of docs/settings.md with its two tables generated from the settings."""
    return with_parts(PAGE, {"settings": _settings_table(), "others": _others_table()})


def _settings_table() -> str:
    meanings = _meanings_by_setting()
    rows = [
        f"| `KVTRACE_{name.upper()}` | {_default_text(value)} | {meanings[name]} |"
        for name, value in DEFAULT.values().items()
    ]
    return "\n".join(["| variable | default | what it does |", "|---|---|---|", *rows])


def _meanings_by_setting() -> dict[str, str]:
    """Return the meaning of each setting, from the docstring of `Settings` and from add-ons."""
    text = cleandoc(Settings.__doc__ or "").partition("Attributes:\n")[2]
    attributes = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", text, re.MULTILINE)
    meanings = {name: " ".join(meaning.split()).removesuffix(".") for name, meaning in attributes}
    return meanings | {name: setting.about for name, setting in added_settings()}


def _default_text(value: Any) -> str:
    value = int(value) if isinstance(value, bool) else value
    return f"`{value}`" if value != "" else ""


def _others_table() -> str:
    rows = [f"| `{name}` | {meaning} |" for name, meaning in other_variables().items()]
    return "\n".join(["| variable | what it does |", "|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
