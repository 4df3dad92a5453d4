"""Growth of the recorder's work, by counts: function calls, and bytes of the journal."""

from pathlib import Path

import pytest

from benchmarks import recorder_growth
from benchmarks.recorder_growth import SHAPES, exponent, work_of
from kvtrace.capture.session import Session

pytestmark = pytest.mark.costly("a program of each shape, three times, under a profiler")

#: Largest exponent of a figure: 1 is linear, n log n between these sizes 1.13.
MOST = 1.2
SIZES = (30, 120, 480)
TRIES = 3


def grown(shape: str) -> dict[str, float]:
    """Return the exponent of each figure without what each recording takes once."""
    work_of(shape, SIZES[0])  # texts of this process's own files are decided once
    small, middle, large = (work_of(shape, size)._asdict() for size in SIZES)
    return {
        name: exponent(
            (SIZES[0], middle[name] - small[name]), (SIZES[1], large[name] - middle[name])
        )
        for name in small
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_linearly(shape: str) -> None:
    # A round that other processes delay writes a row on itself: the work then is not the shape's.
    tries = []
    while len(tries) < TRIES and (not tries or max(tries[-1].values()) >= MOST):
        tries.append(grown(shape))
    assert max(tries[-1].values()) < MOST, tries


def test_work_that_grows_with_the_square_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(session: Session, size: int, _folder: Path) -> None:
        for number in range(size):
            [abs(other) for other in range(number)]
            session.add_mark("mark", number, number + 1, {})

    monkeypatch.setitem(recorder_growth.SHAPES, "searched", searched)
    assert grown("searched")["calls"] > MOST
