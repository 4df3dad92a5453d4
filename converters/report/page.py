"""The report as one HTML file that fits its budget."""

import base64
import hashlib
import html
import importlib.resources
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from kvtrace.converters.report.locations import line_links
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.pack import columns_block, json_block
from kvtrace.converters.report.slices import Slices, bin_slices, thin
from kvtrace.schema.errors import BadSetting

__all__ = ["SCRIPTS", "Dropped", "Written", "write_report"]

#: The page's code, in the order in which it is joined into one script.
SCRIPTS: Final = (
    "format.js",
    "blocks.js",
    "dom.js",
    "table.js",
    "theme.js",
    "timeline.js",
    "overview.js",
    "kernels.js",
    "code_view.js",
    "launches.js",
    "findings.js",
    "main.js",
)

MEBIBYTE: Final = 1 << 20
#: What a page needs of an artifact: its plain content, or None where the trace has it not.
ReadArtifact = Callable[[str], bytes | None]

#: Texts go in in this order while there is room; sources and TTIR first.
_STAGE_ORDER: Final = ("source", "ttir", "ttir_generic", "ttgir", "ptx", "amdgcn", "llir")
#: Launches may always have this share of the room, however much text there is.
_LAUNCH_SHARE: Final = 0.5
_FEWEST_LAUNCHES: Final = 1000
_MOST_CALLS: Final = 20_000
_MOST_FINDINGS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that did not fit: in one sentence, and the command that shows it."""

    what: str
    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_report` wrote."""

    path: Path
    size_bytes: int
    dropped: tuple[Dropped, ...]


@dataclass(slots=True)
class _Page:
    """Blocks of the page so far."""

    report: Report
    max_bytes: int
    blocks: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)

    def room(self) -> int:
        return self.max_bytes - sum(map(_block_size, self.blocks, self.blocks.values()))


def write_report(
    report: Report, read_artifact: ReadArtifact, path: Path, max_mb: float = 20.0
) -> Written:
    """Write the report as one page of at most `max_mb` MiB.

    What does not fit is left out, least needed first: compiled code of the kernels that took
    least time, then launches (of each call the first and the longest stay, and every n-th). The
    page says what was left out and how to see it.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts, or the file
            cannot be written.

    """
    shell = len(_assemble(report.title, {}).encode())
    page = _Page(report, int(max_mb * MEBIBYTE) - shell)
    page.report = _bounded(page)
    base = _report_block(page, None)
    needed = shell + len(base) + 16_384
    if needed > max_mb * MEBIBYTE:
        raise BadSetting(
            f"a report of this trace needs at least {needed / MEBIBYTE:.1f} MiB; "
            f"--max-mb {max_mb:g} is less."
        )
    page.blocks["report"] = base + " " * 16_384
    _add_texts(page, read_artifact)
    bin_ns = _add_slices(page)
    page.blocks["report"] = _report_block(page, bin_ns)
    text = _assemble(report.title, page.blocks)
    return Written(path, _write(path, text), tuple(page.dropped))


def _write(path: Path, text: str) -> int:
    """Write through a temporary file, so that a reader never sees half a page."""
    content = text.encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise BadSetting(f"cannot write {path}: {problem.strerror}.") from problem
    return len(content)


def _bounded(page: _Page) -> Report:
    """Leave out calls and findings beyond what a page can hold."""
    report = page.report
    if len(report.findings) > _MOST_FINDINGS:
        page.dropped.append(
            Dropped(
                "findings",
                f"The first {_MOST_FINDINGS:,} of {len(report.findings):,} distinct findings are "
                "on this page. All:",
                f"kvtrace sanitize {report.trace}",
            )
        )
        report = replace(report, findings=report.findings[:_MOST_FINDINGS])
    if len(report.calls) > _MOST_CALLS:
        report = _with_fewer_calls(page, report)
    return report


def _with_fewer_calls(page: _Page, report: Report) -> Report:
    """Keep the calls with most host time, and those that findings point at."""
    needed = {finding.call for finding in report.findings if finding.call is not None}
    order = sorted(
        range(len(report.calls)), key=lambda i: (i not in needed, -report.calls[i].host_ns)
    )
    kept = sorted(order[:_MOST_CALLS])
    places = np.full(len(report.calls) + 1, -1, np.int64)
    places[kept] = np.arange(len(kept))
    page.dropped.append(
        Dropped(
            "calls",
            f"The {len(kept):,} distinct calls with most host time of {len(report.calls):,} are on "
            "this page. All:",
            f'kvtrace sql {report.trace} "SELECT * FROM calls"',
        )
    )
    findings = tuple(
        replace(f, call=None if f.call is None else _place(places, f.call)) for f in report.findings
    )
    return replace(
        report,
        calls=tuple(report.calls[index] for index in kept),
        findings=findings,
        launches=replace(report.launches, call=places[report.launches.call]),
        device=replace(report.device, call=places[report.device.call]),
    )


def _place(places: Any, index: int) -> int | None:
    found = int(places[index])
    return None if found < 0 else found


def _report_block(page: _Page, bin_ns: int | None) -> str:
    report = replace(page.report, launches=Slices.empty(), device=Slices.empty())
    value = asdict(report)
    del value["launches"], value["device"], value["texts"]
    present = {int(name[5:]) for name in page.blocks if name.startswith("text-")}
    for variant in value["variants"]:
        for entry in (*variant["stages"], *variant["files"]):
            entry["text"] = entry["text"] if entry["text"] in present else None
    value["bin_ns"] = bin_ns
    value["dropped"] = [asdict(entry) for entry in page.dropped]
    return json_block(value)


# --- texts --------------------------------------------------------------------------------------


def _add_texts(page: _Page, read_artifact: ReadArtifact) -> None:
    """Add sources and stages, the most useful of the busiest kernels first, while there is room."""
    report = page.report
    launches = _slices_block(report.launches) if len(report.launches) <= 100_000 else None
    wanted = page.room() if launches is None else _block_size("launches", launches)
    reserved = min(wanted, int(page.room() * _LAUNCH_SHARE))
    left_out = 0
    for index in _texts_by_need(report):
        stage, sha256 = report.texts[index]
        content = read_artifact(sha256)
        if content is None:
            continue
        block = _text_block(stage, content)
        if _block_size(f"text-{index}", block) > page.room() - reserved:
            left_out += 1
            continue
        page.blocks[f"text-{index}"] = block
    if left_out:
        page.dropped.append(
            Dropped(
                "texts",
                f"{left_out:,} of {len(report.texts):,} sources and compiler stages did not fit "
                "into this page. They are in the table artifacts:",
                f'kvtrace sql {report.trace} "SELECT name, stages FROM kernels"',
            )
        )


def _texts_by_need(report: Report) -> list[int]:
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


def _text_block(stage: str, content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    links = line_links(stage, text)
    return json_block({"text": text, "links": None if links is None else asdict(links)})


# --- launches -----------------------------------------------------------------------------------


def _add_slices(page: _Page) -> int | None:
    """Add launches and device executions; return the bins' width where launches are left out."""
    device, launches = page.report.device, page.report.launches
    both = len(device) + len(launches)
    share = len(device) / both if both else 0.0
    page.blocks["device"] = _fitted(page, device, share, "executions on the device", "gpu_kernels")
    bins, bin_ns = None, None
    block = _slices_block(launches)
    if _block_size("launches", block) > page.room():
        found = bin_slices(launches, page.report.span_ns)
        bin_ns = found.width_ns
        bins = columns_block(
            {
                "track": found.track,
                "bin": found.bin,
                "kernel": found.kernel,
                "count": found.count,
                "busy": found.busy_ns,
            }
        )
        page.blocks["bins"] = bins
        block = _fitted(page, launches, 1.0, "launches", "launches")
    page.blocks["launches"] = block
    return bin_ns


def _fitted(page: _Page, slices: Slices, share: float, noun: str, table: str) -> str:
    """Return a block with as many rows as fit into a share of the room."""
    room = int(page.room() * share) - 200
    block = _slices_block(slices)
    kept = slices
    while len(block) > room and len(kept) > _FEWEST_LAUNCHES:
        keep = int(len(kept) * min(room / len(block), 1.0) * 0.97)
        kept = thin(slices, max(keep, _FEWEST_LAUNCHES))
        block = _slices_block(kept)
    if len(block) > max(room, 0) and len(slices):
        kept, block = Slices.empty(), _slices_block(Slices.empty())
    if len(kept) < len(slices):
        page.dropped.append(
            Dropped(
                noun,
                f"{len(kept):,} of {len(slices):,} {noun} are on this page one by one: of each "
                "call the first and the longest, and an even choice of the others. All figures, "
                "and the timeline's bins, count every one. All:",
                f'kvtrace sql {page.report.trace} "SELECT * FROM {table}"',
            )
        )
    return block


def _slices_block(slices: Slices) -> str:
    return columns_block(
        {
            "begin": slices.begin,
            "duration": slices.duration,
            "kernel": slices.kernel,
            "call": slices.call,
            "track": slices.track,
            "phase": slices.phase,
            "seq": slices.seq,
        }
    )


# --- the file -----------------------------------------------------------------------------------


def _assemble(title: str, blocks: dict[str, str]) -> str:
    style, script = _resource("page.css"), "".join(map(_resource, SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Template(_resource("page.html")).substitute(
        title=html.escape(title),
        policy=policy,
        style=style,
        script=script,
        blocks="\n".join(_script(name, block) for name, block in blocks.items()),
    )


def _script(name: str, block: str) -> str:
    return f'<script type="application/gzip+base64" id="{name}">{block}</script>'


def _block_size(name: str, block: str) -> int:
    return len(_script(name, "")) + len(block) + 1


def _source(content: str) -> str:
    """Return the policy's name for an inline script or style: the hash of its content."""
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _resource(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
