"""HTML of a difference of two traces: changes, worst first, with their certainty."""

from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.diff.model import Difference, HeadlineRow
from kvtrace.converters.diff.render import headline_text
from kvtrace.converters.diff.words import side_line, summary
from kvtrace.text import distinct, shorten

_WIDTH: Final = 60
_CERTAINTY: Final[dict[str, str]] = {
    "measured": "measured", "derived": "derived", "exact": "reading both sides",
}  # fmt: skip

_COLUMNS: Final[tuple[Column[HeadlineRow], ...]] = (
    Column("where", lambda row: row.level),
    Column("what", lambda row: row.what, kind="sentence"),
    Column("before", lambda row: row.before and shorten(row.before, _WIDTH), kind="number"),
    Column("after", lambda row: row.after and shorten(row.after, _WIDTH), kind="number"),
    Column(
        "change", lambda row: _share(row), "of before", kind="number",
        tone=lambda row: row.direction if row.direction != "changed" else "",
    ),
    Column("known by", lambda row: _CERTAINTY[row.certainty]),
)  # fmt: skip


def difference_html(difference: Difference) -> str:
    """Return HTML with both sides, a table of the changes, and the command's whole text."""
    command_output = markup.code(headline_text(difference, width=120, full=True))
    sides = markup.facts(
        [("before", side_line(difference.before)), ("after", side_line(difference.after))]
    )
    caption = markup.words(summary(difference))
    names = distinct((row.kernel for row in difference.headline), _WIDTH)
    kernel: Column[HeadlineRow] = Column("kernel", lambda row: names[row.kernel], kind="code")
    table = (
        markup.table([kernel, *_COLUMNS], difference.headline, caption)
        if difference.headline
        else (markup.paragraph(summary(difference)))
    )
    return markup.shown(sides, table, markup.folded("as kvtrace diff prints it", command_output))


def _share(row: HeadlineRow) -> str:
    if row.share is None:
        return "" if row.direction == "changed" else row.direction
    return f"{100 * row.share:+.2g} %"
