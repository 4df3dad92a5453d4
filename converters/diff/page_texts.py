"""Texts of both sides for a page: a block for each text, which the page reads on demand."""

from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.diff.code import code_stages, compare_code
from kvtrace.converters.diff.model import CodeDifference, VariantDifference

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

#: Most characters of all texts on a page; gzip reduces them to a tenth.
_MOST_CHARACTERS: Final = 30_000_000
#: Most lines of a text to align with another, and of all aligned texts, since it takes seconds.
_MOST_LINES: Final = 4_000
_MOST_ALIGNED: Final = 100_000


class PageTexts:
    """Builder of a page's text blocks, in `blocks` by name: each text once, up to a size limit."""

    def __init__(self, sides: "tuple[Selection, Selection]") -> None:
        self._sides = sides
        self._names: dict[tuple[int, str], str | None] = {}
        self._room = _MOST_CHARACTERS
        self._lines = _MOST_ALIGNED
        self.blocks: dict[str, Any] = {}

    def texts(self, variant: VariantDifference) -> list[dict[str, Any]]:
        """Return a row per stage of a variant: its name, and the names of both texts' blocks.

        The blocks are added. A name is None if the text is missing or does not fit.
        """
        entries = [
            {"stage": stage, "before": self._block(0, before), "after": self._block(1, after)}
            for stage, before, after in variant.artifacts
        ]
        return [entry for entry in entries if entry["before"] or entry["after"]]

    def aligned(self, variant: VariantDifference) -> list[tuple[str, CodeDifference]]:
        """Return the differences of the stages after `variant.code`, by stage.

        Stages with too many lines to align are left out.
        """
        differences = []
        for stage, before, after in variant.artifacts:
            if stage not in code_stages() or (variant.code and variant.code.stage == stage):
                continue
            texts = [
                self._text(side, sha) for side, sha in enumerate((before, after)) if before != after
            ]
            if len(texts) < 2 or texts[0] is None or texts[1] is None:
                continue
            line_counts = [text.count("\n") for text in texts if text is not None]
            if max(line_counts) > _MOST_LINES or sum(line_counts) > self._lines:
                continue
            self._lines -= sum(line_counts)
            code = compare_code(stage, texts[0], texts[1])
            if code is not None:
                differences.append((stage, code))
        return differences

    def add(self, value: Any) -> str:
        """Add a block with a JSON value, and return the block's name."""
        name = f"compare-text/{len(self.blocks)}"
        self.blocks[name] = value
        return name

    def _block(self, side: int, sha256: str | None) -> str | None:
        if sha256 is None:
            return None
        key = (side, sha256)
        if key not in self._names:
            text = self._text(side, sha256)
            if text is None or len(text) > self._room:
                self._names[key] = None
            else:
                self._room -= len(text)
                self._names[key] = self.add({"text": text})
        return self._names[key]

    def _text(self, side: int, sha256: str | None) -> str | None:
        content = self._sides[side].trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")
