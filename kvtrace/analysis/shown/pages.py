"""The report inside a notebook: one self-contained page in a frame that can reach nothing else."""

from dataclasses import dataclass
from html import escape

from kvtrace.text import plural, size


@dataclass(frozen=True)
class ShownPage:
    """A page of the report, which a notebook shows where the object is the last of a cell.

    The page's code can reach neither the notebook nor the network: its frame has a separate origin,
    and its policy lets in no request.

    Attributes:
        title: What it is of.
        html: The whole page.
        height: Of its frame, in CSS pixels.
        notes: What was done for it, and what was left out of it.

    """

    title: str
    html: str
    height: int
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of the page, which a notebook that is saved grows by."""
        return len(self.html.encode())

    def __repr__(self) -> str:
        told = f"{self.title}: a page of {size(self.size_bytes)}, shown in notebooks"
        return told + (f" ({plural(len(self.notes), 'note')})" if self.notes else "")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height:d}px;border:1px solid '
            'color-mix(in srgb,currentColor 25%,transparent)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )
