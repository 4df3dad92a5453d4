"""FLOPs and bytes of a launch as the kernel's author states them, beside those of its IR."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.text import count

#: SQL of the mean work of a launch by kernel, over runs of the calls for which it is stated. That
#: of the IR is null unless it is known of all of these.
STATED_WORK: Final = """
    WITH stated AS (
        SELECT p.kernel, l.runs, p.stated.bytes AS bytes, t.unique_bytes,
            list_sum([p.stated.flops, p.stated.flops8, p.stated.flops16, p.stated.flops32,
                p.stated.flops64]) AS flops, w.flops AS work_flops
        FROM place p JOIN launched l USING (place) LEFT JOIN work w USING (place)
        LEFT JOIN traffic t USING (place)
        WHERE p.stated IS NOT NULL AND l.runs > 0
    )
    SELECT kernel,
        sum(flops * runs) / sum(runs) FILTER (flops IS NOT NULL) AS flops,
        CASE WHEN bool_and(work_flops IS NOT NULL) FILTER (flops IS NOT NULL)
            THEN sum(work_flops * runs) FILTER (flops IS NOT NULL)
                / sum(runs) FILTER (flops IS NOT NULL) END AS ir_flops,
        sum(bytes * runs) / sum(runs) FILTER (bytes IS NOT NULL) AS bytes,
        CASE WHEN bool_and(unique_bytes IS NOT NULL) FILTER (bytes IS NOT NULL)
            THEN sum(unique_bytes * runs) FILTER (bytes IS NOT NULL)
                / sum(runs) FILTER (bytes IS NOT NULL) END AS ir_bytes
    FROM stated GROUP BY kernel
"""


@dataclass(frozen=True, slots=True)
class StatedFigures:
    """Mean work of a launch, as its author states it and by its IR; None where not known.

    `ir_bytes` are the distinct bytes that a launch reads and writes.
    """

    flops: float | None
    ir_flops: float | None
    bytes: float | None
    ir_bytes: float | None

    @property
    def sentence(self) -> str:
        """Both figures of what is stated, as "author 2,000 FLOPs, IR 2,048"."""
        pairs = (("FLOPs", self.flops, self.ir_flops), ("bytes", self.bytes, self.ir_bytes))
        return "; ".join(
            f"author {count(round(stated))} {unit}, "
            f"IR {'not known' if derived is None else count(round(derived))}"
            for unit, stated, derived in pairs
            if stated is not None
        )


def stated_figures(row: Mapping[str, Any]) -> StatedFigures | None:
    """Return the figures of a row of `STATED_WORK`; None if only a name is stated."""
    figures = StatedFigures(row["flops"], row["ir_flops"], row["bytes"], row["ir_bytes"])
    return figures if figures.sentence else None
