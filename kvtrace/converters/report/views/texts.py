"""`texts/<n>`: sources and compiler stages with the source lines that their lines come from."""

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Final

from kvtrace.converters.report.locations import line_links
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]

#: Texts go in in this order while there is room; sources and TTIR first.
_STAGE_ORDER: Final = ("source", "ttir", "ttir_generic", "ttgir", "ptx", "amdgcn", "llir")


def _blocks(context: Context) -> Iterable[Block]:
    if not context.source:
        return
    for index in _by_need(context.report):
        stage, sha256 = context.report.texts[index]
        content = context.trace.artifact(sha256)
        if content is not None:
            yield Block(f"texts/{index}", partial(_packed, stage, content))


def _by_need(report: Report) -> list[int]:
    """Return texts of the first stages first, and of those the busiest kernels' first."""
    need: dict[int, tuple[int, int, int]] = {}
    for variant in report.variants:
        entries = [stage.text for stage in variant.stages] + [file.text for file in variant.files]
        for text in entries:
            if text is None:
                continue
            stage = report.texts[text][0]
            rank = _STAGE_ORDER.index(stage) if stage in _STAGE_ORDER else len(_STAGE_ORDER)
            need[text] = min(need.get(text, (99, 0, 0)), (rank, -variant.host_ns, text))
    return sorted(need, key=lambda text: need[text])


def _packed(stage: str, content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    links = line_links(stage, text)
    return json_block({"text": text, "links": None if links is None else asdict(links)})


SOURCE: Final = BlockSource(
    name="texts",
    order=30,
    share=1.0,
    noun="sources and compiler stages",
    query="SELECT name, stages FROM kernels",
    blocks=_blocks,
)
