"""Pages of two traces recorded for real: the launch view's tests open them."""

import base64
import contextlib
import gzip
import io
import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtrace.cli import main
from tests.support.packed import BLOCK


@dataclass(frozen=True, slots=True)
class LaunchPages:
    """`page` has recorded tensors, `large` two tensors of more elements than get a count each."""

    page: Path
    large: Path


def written_pages(folder: Path) -> LaunchPages:
    """Record both programs, derive what can be derived, and write their pages."""
    _record(folder / "out", _small_launches, tensors="all")
    _record(folder / "large", _large_launches, tensors="none")
    pages = LaunchPages(folder / "page.html", folder / "large.html")
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["replay", str(folder / "out")]) == 0
        assert main(["sanitize", str(folder / "out")]) == 1
        assert main(["replay", str(folder / "large")]) == 0
        assert main(["report", str(folder / "out"), "-o", str(pages.page)]) == 0
        assert main(["report", str(folder / "large"), "-o", str(pages.large)]) == 0
    return pages


def _record(out: Path, launches: Any, tensors: str) -> None:
    import kvtrace

    with kvtrace.capture(out, tensors=tensors):
        launches()


def _small_launches() -> None:
    import torch

    from tests.converters import launch_kernels as kernels

    torch.manual_seed(1)
    a, b, c = torch.randn(70, 45), torch.randn(52, 45), torch.empty(70, 52)
    kernels.product[(5, 4)](a, b, c, 70, 52, 45, BLOCK=16)
    volume = torch.randn(3, 6, 7).to(torch.bfloat16)
    halved = torch.zeros(4, 6, 7, dtype=torch.bfloat16)
    kernels.halved_volume[(4,)](volume, halved, 6, 7, R=8, C=8)
    values = torch.arange(1000, dtype=torch.float16)
    values[3], values[5], values[7] = float("nan"), float("inf"), float("-inf")
    kernels.backwards[(4,)](values, torch.zeros_like(values), 1000, BLOCK=256)
    kernels.banded[(40,)](torch.ones(400), torch.zeros(2 * 40 * 16), 5, 4, BLOCK=16)
    index = torch.randint(0, 1000, (1000,))
    kernels.gathered[(4,)](torch.randn(1000), index, torch.zeros(1000), 1000, BLOCK=256)


def _large_launches() -> None:
    import torch

    from tests.converters import launch_kernels as kernels

    tiles = torch.zeros(5000, 4200, dtype=torch.int8)
    kernels.filled[(66, 40)](tiles, 5000, 4200, R=128, C=64)
    flat = torch.zeros(21_000_000, dtype=torch.int8)
    kernels.swept[(5127,)](flat, 21_000_000, BLOCK=4096)


def blocks_of(page: Path) -> dict[str, bytes]:
    """All blocks of a page, decoded."""
    text = page.read_text(encoding="utf-8")
    return {
        name: gzip.decompress(base64.b64decode(content)) for name, content in BLOCK.findall(text)
    }


def call_named(blocks: dict[str, bytes], kernel: str) -> tuple[int, dict[str, Any]]:
    """The first call of a kernel: its index in the report, and its block."""
    report = json.loads(blocks["report"])
    for index, call in enumerate(report["calls"]):
        if report["kernels"][report["variants"][call["variant"]]["kernel"]]["name"] == kernel:
            return index, json.loads(blocks[f"call/{index}"])
    raise LookupError(kernel)


def listed_executions(access: dict[str, Any]) -> list[tuple[int | None, int | None, list[int]]]:
    """Program, iteration and byte offsets of each execution of a record, one by one."""
    layout = access["layout"]
    programs = _listed(layout.get("programs", [access["program"], []]))
    trips = _listed(layout.get("trips", [access["iteration"], []]))
    lanes = _lanes(layout)
    return [
        (program, trip, [layout["base"] + first + second + lane for lane in lanes])
        for (program, first), (trip, second) in itertools.product(programs, trips)
    ]


def _listed(described: list[Any]) -> list[tuple[int | None, int]]:
    first, levels = described
    found = [(first, 0)]
    for count, step, by in levels:
        found = [(at + i * step, to + i * by) for at, to in found for i in range(count)]
    return [(None if at in (None, -1) else at, to) for at, to in found]


def _lanes(layout: dict[str, Any]) -> list[int]:
    if "runs" in layout:
        return [
            first + row * by + place * step
            for first, count, step, times, by in layout["runs"]
            for row in range(times)
            for place in range(count)
        ]
    ranges = layout.get("box") or [[0, extent] for extent, _ in layout["lanes"]]
    lanes = [
        sum(place * stride for place, (_, stride) in zip(index, layout["lanes"], strict=True))
        for index in itertools.product(*(range(low, high) for low, high in ranges))
    ]
    if "active" in layout:
        lanes = [lane for first, count in layout["active"] for lane in lanes[first : first + count]]
    return lanes


def listed_counts(
    accesses: list[dict[str, Any]], program: int | None = None, iteration: int | None = None
) -> Counter[int]:
    """How often each byte offset is accessed, address by address."""
    return Counter(
        address
        for access in accesses
        for by, trip, addresses in listed_executions(access)
        if (program is None or by == program) and (iteration is None or trip == iteration)
        for address in addresses
    )


def rewritten(page: Path, out: Path, changed: dict[str, Any]) -> Path:
    """Write a copy of a page with other JSON in some of its blocks."""

    def packed(match: re.Match[str]) -> str:
        if match[1] not in changed:
            return match[0]
        content = base64.b64encode(gzip.compress(json.dumps(changed[match[1]]).encode())).decode()
        return match[0].replace(match[2], content)

    out.write_text(BLOCK.sub(packed, page.read_text(encoding="utf-8")), encoding="utf-8")
    return out
