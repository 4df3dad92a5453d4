"""Data of pages that are no reports."""

import re
from typing import Any

from kvtrace.converters.report.document import DOCUMENT
from tests.support.packed import read_json


def shown_by(page: str) -> Any:
    """The content that a page shows."""
    (block,) = re.findall(rf'id="{DOCUMENT}">([^<]*)<', page)
    return read_json(block)
