"""Blocks `texts/<index>`: sources and compiler stages, with the source lines of each line."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from kvtrace.converters.disassembly import disassembler, listings
from kvtrace.converters.line_links import LineLinks, line_links, link_sass
from kvtrace.converters.report.merged_kernels import SASS
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

#: Order in which texts are added while there is room; sources and TTIR first.
_STAGE_ORDER: Final = (
    "source", "ttir", "glir", "ttir_generic", "ttgir", "ttgir_generic", "ptx", "amdgcn", "llir",
    SASS,
)  # fmt: skip
#: Most binaries to disassemble, of the busiest variants; each takes a tenth of a second.
_MOST_DISASSEMBLED: Final = 16


def _blocks(context: Context) -> Iterable[Block]:
    if not context.source:
        return
    text_indexes = _texts_by_need(context.report)
    binaries = [index for index in text_indexes if context.report.texts[index][0] == SASS]
    for index in text_indexes:
        stage, sha256 = context.report.texts[index]
        content = None if stage == SASS else context.trace.artifact(sha256)
        if content is not None:
            text = content.decode("utf-8", "replace")
            yield Block(f"texts/{index}", partial(_text_block, stage, text))
    for index, listing in _listings(context, binaries[:_MOST_DISASSEMBLED]):
        yield Block(f"texts/{index}", partial(_text_block, SASS, listing))


def _listings(context: Context, indices: Sequence[int]) -> Iterable[tuple[int, str]]:
    """Yield the index and the disassembly of the texts that are binaries.

    Binaries that are missing or cannot be disassembled are left out.
    """
    tool = disassembler() if indices else None
    if tool is None:
        return
    index_of = {context.report.texts[index][1]: index for index in indices}
    for sha256, listing in listings(context.trace, tool, index_of):
        yield index_of[sha256], listing


def _texts_by_need(report: Report) -> list[int]:
    """Return indexes of texts: early stages first; within a stage, kernels with most host time."""
    priority_by_text: dict[int, tuple[int, int, int]] = {}
    for variant in report.variants:
        texts_of_variant = [stage.text for stage in variant.stages] + [
            file.text for file in variant.files
        ]
        for text in texts_of_variant:
            if text is None:
                continue
            stage = report.texts[text][0]
            rank = _STAGE_ORDER.index(stage) if stage in _STAGE_ORDER else len(_STAGE_ORDER)
            priority_by_text[text] = min(
                priority_by_text.get(text, (99, 0, 0)), (rank, -variant.host_ns, text)
            )
    return sorted(priority_by_text, key=lambda text: priority_by_text[text])


def _text_block(stage: str, text: str) -> str:
    links: LineLinks | None
    if stage == SASS:
        text, links = link_sass(text)
    else:
        links = line_links(stage, text)
    return json_block({"text": text, "links": links})


SOURCE: Final = BlockSource(
    name="texts",
    order=30,
    share=1.0,
    noun="sources and compiler stages",
    query="SELECT name, stages FROM kernels",
    blocks=_blocks,
)
