"""Blocks of a page: data besides the report that views load on demand, a module for each kind.

A view is a folder in `frontend/src/views`; its blocks come from a module here, which is an entry
point of the group `kvtrace.report_views`. A module for a view of tensor graphs:

    from collections.abc import Iterable
    from typing import Final

    from kvtrace.converters.report.pack import json_block
    from kvtrace.converters.report.sources import Block, BlockSource, Context


    def _blocks(context: Context) -> Iterable[Block]:
        for index, run in enumerate(context.runs):
            rows = context.trace.table("graph_ops", (run,))
            if len(rows):
                yield Block(f"graph/{index}", lambda rows=rows: json_block(_graph(rows)))


    SOURCE: Final = BlockSource(
        name="graph", order=40, share=0.5, noun="tensor graphs", query="FROM graph_ops",
        blocks=_blocks,
    )

- A block's name is its element's id in the page: `kind/which`, of letters, digits, `/`, `-`, `_`.
- `blocks` yields the most needed blocks first. `pack` is called only if there is room, so reading
  and deriving belong there; a table is read once (`context.by_call`).
- A block holds plain JSON (`json_block`), columns of whole numbers (`columns_block`) or bytes
  (`bytes_block`). Ids of the trace become indices of the report: `context.stack(stack_id)`.
- Figures come with `measured`: true if measured while the program ran, false if derived; null is
  "not known" and never 0.
- With `context.source` false nothing may hold code: sources, IR, expressions.
- Omitted blocks are counted, and the page names `kvtrace sql TRACE "<query>"` for them.
- The page checks for a block by its element: `page.has("graph/0")`.

A module here may import the same rooms as `kvtrace.converters.report`.
"""
