"""`tensor/<artifact>`: the bytes of a recorded tensor's storage (KVTRACE_TENSORS)."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from kvtrace.converters.report.pack import bytes_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE"]


def _blocks(context: Context) -> Iterable[Block]:
    for artifact in _by_need(context):
        yield Block(f"tensor/{artifact}", partial(_packed, context, artifact))


def _by_need(context: Context) -> list[str]:
    """Return recorded storages, those of findings' calls first, then the small ones."""
    report = context.report
    pointed = {finding.call for finding in report.findings}
    need: dict[str, tuple[bool, int]] = {}
    for index, call in enumerate(report.calls):
        for arg in call.args:
            argument = report.arguments[arg]
            if argument.value is None:
                continue
            own = (index not in pointed, argument.storage_bytes or 0)
            need[argument.value] = min(need.get(argument.value, own), own)
    return sorted(need, key=lambda artifact: (*need[artifact], artifact))


def _packed(context: Context, artifact: str) -> str:
    return bytes_block(context.trace.artifact(artifact) or b"")


SOURCE: Final = BlockSource(
    name="tensor",
    order=40,
    share=0.6,
    noun="recorded tensors",
    query="SELECT sha256, size_bytes FROM artifacts WHERE kind = 'tensor'",
    blocks=_blocks,
)
