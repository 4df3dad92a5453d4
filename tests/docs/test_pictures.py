"""The outputs of docs/demo.md are what the commands print, and its pictures are small."""

import re

import pytest

from docs_site.pictures import FIXTURES, PAGE, PICTURES, SCREENS, output
from docs_site.repository import ROOT

BLOCKS = re.findall(
    r"<!-- (\d+) columns: kvtrace (.*?) -->\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)
#: Bytes of all pictures together.
MOST = 600_000


def test_demo_page_shows_profile():
    commands = [(command.split()[0], int(columns)) for columns, command, _ in BLOCKS]
    assert commands == [("profile", 80)]


@pytest.mark.parametrize(("columns", "command", "text"), BLOCKS)
def test_output_in_the_demo_page_equals_the_commands_output(columns, command, text):
    before = sorted(FIXTURES.glob("planted/*/*/*"))
    assert output(command.split(), int(columns)) == text
    assert max(map(len, text.splitlines())) <= int(columns)
    assert sorted(FIXTURES.glob("planted/*/*/*")) == before, "it wrote into the fixture"


def test_screenshot_exists_for_each_screen_width_and_theme():
    wanted = {
        f"{name}-{width}-{scheme}.png"
        for name, screen in SCREENS.items()
        for width in screen.widths
        for scheme in ("light", "dark")
    }
    pictures = {path.name: path.stat().st_size for path in PICTURES.glob("*.png")}
    assert pictures.keys() == wanted
    assert sum(pictures.values()) < MOST
    shown = PAGE.read_text("utf-8") + (ROOT / "README.md").read_text("utf-8")
    assert all(name in shown for name in wanted)
