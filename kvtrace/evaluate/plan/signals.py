"""Exceptions of a walk over the IR that cannot continue; caught inside this package."""


class Unplannable(Exception):
    """The launch has no plan; the text says why."""


class LeavesTensor(Unplannable):
    """An access may leave its tensor; the array evaluator then reports the whole launch."""


class SplitAxis(Exception):
    """A program axis or a trip must be cut in two: below `at`, and from `at` on."""

    def __init__(self, symbol: int, at: int) -> None:
        super().__init__(symbol, at)
        self.symbol = symbol
        self.at = at


class FactorAxis(Exception):
    """A program axis must be divided: one of `extent` values, and one over blocks of them."""

    def __init__(self, symbol: int, extent: int) -> None:
        super().__init__(symbol, extent)
        self.symbol = symbol
        self.extent = extent
