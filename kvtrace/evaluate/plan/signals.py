"""Exceptions of a walk over the IR that cannot continue; caught inside this package."""


class Unplannable(Exception):
    """A launch has no plan; the text is the reason."""


class LeavesTensor(Unplannable):
    """An access may leave its tensor, so the array evaluator runs the whole launch."""


class SplitAxis(Exception):
    """Request to cut a program axis or trips in two: below `at`, and from `at` on."""

    def __init__(self, symbol: int, at: int) -> None:
        super().__init__(symbol, at)
        self.symbol = symbol
        self.at = at


class FactorAxis(Exception):
    """Request to divide a program axis into one of `extent` values and one over such blocks."""

    def __init__(self, symbol: int, extent: int) -> None:
        super().__init__(symbol, extent)
        self.symbol = symbol
        self.extent = extent
