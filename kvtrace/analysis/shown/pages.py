"""The report inside of a notebook: one self-contained page in an isolated frame."""

from dataclasses import dataclass
from html import escape

from kvtrace.text import plural, size


@dataclass(frozen=True)
class ShownPage:
    """A page of the report, which a notebook shows if the object is the last value of a cell.

    The page's code can reach neither the notebook nor the network: its frame has a separate origin,
    and its policy forbids requests.

    Attributes:
        title: The page's title.
        html: The whole page.
        height: The frame's height, in CSS pixels.
        notes: Messages on passes that were run, and on parts that were left out.

    """

    title: str
    html: str
    height: int
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of the page, which is added to a notebook that is saved."""
        return len(self.html.encode())

    def __repr__(self) -> str:
        text = f"{self.title}: a page of {size(self.size_bytes)}, shown in notebooks"
        return text + (f" ({plural(len(self.notes), 'note')})" if self.notes else "")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height:d}px;border:1px solid '
            'color-mix(in srgb,currentColor 25%,transparent)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )
