"""What launches of NKI kernels do on chip, in the sums of their variants."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kvtrace.converters.chip_profile import ChipProfile
from kvtrace.converters.diff.variant import Variant

Engines = tuple[tuple[str, float], ...]


def fill_chips(variants: Sequence[Variant], chips: Sequence[ChipProfile]) -> None:
    """Fill in ops, peaks and engines of the variants whose calls were observed, all of them."""
    known = {(chip.run, chip.call_id): chip for chip in chips}
    for variant in variants:
        calls = list(variant.calls.values())
        found = [(known.get((call.run, call.call_id)), call.launches) for call in calls]
        seen = [(chip, launches) for chip, launches in found if chip is not None]
        if not seen or len(seen) < len(found):
            continue
        variant.totals = replace(
            variant.totals,
            executed_ops=sum(chip.executed * launches for chip, launches in seen),
            sbuf_peak_bytes=max(chip.sbuf_peak_bytes for chip, _ in seen),
            psum_peak_banks=max(chip.psum_peak_banks for chip, _ in seen),
            engine_ns=engines_together(
                tuple(
                    (each.engine, each.busy_ns * launches)
                    for each in chip.engines
                    if each.busy_ns is not None
                )
                for chip, launches in seen
            ),
        )


def engines_together(parts: Iterable[Engines]) -> Engines:
    """Add up the times of engines."""
    total: dict[str, float] = {}
    for name, ns in (pair for part in parts for pair in part):
        total[name] = total.get(name, 0.0) + ns
    return tuple(total.items())
