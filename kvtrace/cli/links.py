"""Places such as `file.py:6:21` as links of the terminal (OSC 8).

Format: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda, which names VTE 0.50 as
the first with links; a line in a `file:` address: https://sw.kovidgoyal.net/kitty/open_actions;
`vscode:` addresses: https://code.visualstudio.com/docs/configure/command-line.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import quote

#: A color or the begin of a word; a file's name with its ending, a line, perhaps a column.
_PLACE: Final = re.compile(
    r"(\x1b\[[\d;]*m|(?<![\w/.]))(([\w./+@-]+\.[A-Za-z]\w*):(\d+)(?::(\d+))?)\b"
)
#: Values of TERM_PROGRAM, and variables that other terminals set.
_PROGRAMS: Final = {"vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper"}
_VARIABLES: Final = ("KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION", "DOMTERM")
#: Set where links are not passed on: by Jupyter's kernels, tmux and screen.
_WITHOUT_LINKS: Final = ("JPY_PARENT_PID", "TMUX", "STY")
#: VTE 0.50 and later, as VTE_VERSION writes it.
_VTE: Final = re.compile(r"[5-9]\d{3}|\d{5,}")


def knows_links(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal that these variables tell of shows links.

    FORCE_HYPERLINK, as other programs read it, decides if it is set: 0 is no.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    if environment.get("TERM") == "dumb" or any(name in environment for name in _WITHOUT_LINKS):
        return False
    return (
        environment.get("TERM_PROGRAM") in _PROGRAMS
        or any(map(environment.get, _VARIABLES))
        or _VTE.fullmatch(environment.get("VTE_VERSION", "")) is not None
    )


def for_stream(text: str, stream: TextIO) -> str:
    """Return a text with places as links if a stream is a terminal that shows them."""
    shows_links = stream.isatty() and knows_links(os.environ)
    return linked(text, os.environ) if shows_links else text


def linked(text: str, environment: Mapping[str, str]) -> str:
    """Return a text in which each place in a file that exists here is a link to it."""

    def link(match: re.Match[str]) -> str:
        before, place, name, line, column = match.groups()
        path = Path(name).absolute()
        if not path.is_file():
            return match[0]
        address = _address(str(path), line, column, environment)
        return f"{before}\x1b]8;;{address}\x1b\\{place}\x1b]8;;\x1b\\"

    return _PLACE.sub(link, text)


def _address(path: str, line: str, column: str | None, environment: Mapping[str, str]) -> str:
    if environment.get("TERM_PROGRAM") == "vscode":
        return f"vscode://file{quote(path)}:{line}" + (f":{column}" if column else "")
    at_line = f"#{line}" if "KITTY_WINDOW_ID" in environment else ""
    return f"file://{os.uname().nodename}{quote(path)}{at_line}"
