"""Each screen of README.md and the pages has its pictures, and they are small."""

from docs_site.pictures import PICTURES, SCREENS
from docs_site.repository import ROOT

#: Bytes of all pictures together.
MOST = 600_000


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
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    shown = "".join(page.read_text("utf-8") for page in pages)
    assert all(name in shown for name in wanted)
