"""Blocks `memory/<run>`: bytes in use over time, who holds the peak, and the lives of storages.

A run whose memory was not recorded has no block. A block's size does not depend on the number of
launches.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from kvtrace.addons.memory.page_model import RunStorages
from kvtrace.addons.memory.recorded_memory import is_recorded
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.errors import DamagedFile

__all__ = ["SOURCE"]


def _blocks(context: Context) -> Iterable[Block]:
    for index, run in enumerate(context.runs):
        if is_recorded(context.trace, run):
            yield Block(f"memory/{index}", partial(_run_block, context, index))


def _run_block(context: Context, run: int) -> str:
    from kvtrace.addons.memory.page_storages import run_storages  # needs the evaluator

    try:
        return json_block(run_storages(context, run))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        run_id = context.runs[run].run_id
        raise DamagedFile(
            f"the rows of run {run_id} about memory do not fit together; run kvtrace validate"
        ) from error


SOURCE: Final = BlockSource(
    name="memory",
    order=9,
    share=0.2,
    noun="runs' memory",
    query="FROM operations",
    blocks=_blocks,
    types=(RunStorages,),
)
