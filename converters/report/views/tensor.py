"""Blocks `tensor/<artifact>`: the bytes of a recorded tensor's storage (KVTRACE_TENSORS)."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from kvtrace.converters.report.pack import bytes_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

#: Largest storage that is packed; a page would not hold larger ones.
_MOST_BYTES: Final = 64 << 20


def _blocks(context: Context) -> Iterable[Block]:
    for artifact, size in _storages_by_need(context):
        yield Block(f"tensor/{artifact}", partial(_tensor_block, context, artifact, size))


def _storages_by_need(context: Context) -> list[tuple[str, int]]:
    """Return the artifact and size in bytes of each recorded storage, the most needed first.

    Storages of calls with findings come first; otherwise smaller ones.
    """
    report = context.report
    calls_of_findings = {finding.call for finding in report.findings}
    priority_by_artifact: dict[str, tuple[bool, int]] = {}
    for index, call in enumerate(report.calls):
        for arg in call.args:
            argument = report.arguments[arg]
            if argument.value is None:
                continue
            priority = (index not in calls_of_findings, argument.storage_bytes or 0)
            priority_by_artifact[argument.value] = min(
                priority_by_artifact.get(argument.value, priority), priority
            )
    order = sorted(
        priority_by_artifact, key=lambda artifact: (*priority_by_artifact[artifact], artifact)
    )
    return [(artifact, priority_by_artifact[artifact][1]) for artifact in order]


def _tensor_block(context: Context, artifact: str, size: int) -> str | None:
    content = context.trace.artifact(artifact) if size <= _MOST_BYTES else None
    return None if content is None else bytes_block(content)


SOURCE: Final = BlockSource(
    name="tensor",
    order=40,
    share=0.6,
    noun="recorded tensors",
    query="SELECT sha256, size_bytes FROM artifacts WHERE kind = 'tensor'",
    blocks=_blocks,
)
