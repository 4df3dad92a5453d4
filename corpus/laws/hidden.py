"""Formulas whose difference is shown by few numbers, or by no number that is evaluated."""

from typing import Final

import torch

from corpus.questions.laws import broken, cases_of, kept

_MASKED: Final = "s = tl.where(m != 0, x, float('-inf'))\ntop = tl.max(s)\n"
_WIDE: Final = "top = tl.max(x)\ne = tl.exp(x - {})\nr = tl.sum(x * e) / tl.sum(e) + 0 * x"
_GATHERED: Final = "g = tl.load(x_ptr + m)\ne = tl.exp(g{})\nr = e / tl.sum(e)"
_SLOW: Final = (
    "total = tl.zeros((BLOCK,), tl.float32)\n"
    "for k in range({}):\n"
    "    total += tl.sort(x * (k + 1.0))\n"
    "e = tl.exp(x{})\n"
    "r = e / tl.sum(e) + 0 * total"
)
_TILES: Final = (
    "r = 0 * y\ntop = {}\n"
    "for k in range(0, BLOCK, 16):\n"
    "    part = tl.load(x_ptr + tl.program_id(0) * width + k + tl.arange(0, 16))\n"
    "    new = {}\n"
    "    r = r{} + tl.sum(tl.exp(part - new)){}\n"
    "    top = {}"
)
_EXPONENTIALS: Final = "top = tl.max(x)\nr = tl.sum(tl.exp(x - top)) + 0 * y"
_MASKED_TILE: Final = (float("-inf"),) * 16
_HALF: Final = {"dtype": torch.float16, "near": 1e-2}

PAIRS: Final = (
    broken("a running maximum", _EXPONENTIALS,
           _TILES.format("float('-inf')", "tl.maximum(top, tl.max(part))", " * tl.exp(top - new)",
                         "", "new"),
           "-inf - -inf in a first tile that is masked whole", x=_MASKED_TILE),
    broken("a maximum of each tile", _EXPONENTIALS,
           _TILES.format("tl.max(x)", "tl.max(part)", "", " * tl.exp(new - top)", "top"),
           "-inf - -inf in any tile that is masked whole", x=(*(0.0,) * 48, *_MASKED_TILE)),
    kept("tiles by the maximum of all", _EXPONENTIALS,
         _TILES.format("tl.max(x)", "top", "", "", "top"), "the same terms"),
    broken("twice, and back", "x.to(tl.float32) * 2.0 * 0.5", "x * 2.0 * 0.5",
           "beyond the largest number of 16 bits", x=40000.0, **_HALF),
    broken("half of a sum", "(x.to(tl.float32) + y.to(tl.float32)) * 0.5", "(x + y) * 0.5",
           "beyond the largest number of 16 bits", x=40000.0, y=40000.0, **_HALF),
    broken("a half is rounded up", "r = tl.floor(x)\nr += tl.where(x - r >= 0.5, 1.0, 0.0)",
           "tl.floor(x + 0.5)", "1 for the number below a half", x=0.49999997),
    broken("a half is rounded down", "r = tl.ceil(x)\nr += tl.where(r - x >= 0.5, 0.0, 1.0)",
           "tl.ceil(x - 0.5) + 1.0", "0 for the number above -0.5", x=-0.49999997),
    broken("divided by a sum and multiplied by it", "x",
           "total = tl.sum(tl.abs(x))\nr = x / total * total", "NaN for a row of zeros", x=0.0),
    broken("a difference of squares", "x + y", "(x * x - y * y) / (x - y)", "NaN where x is y",
           x=1.5, y=1.5),
    broken("a root of a polynomial", "x + 3", "(x * x - 9) / (x - 3)", "NaN at 3", x=3.0),
    broken("a denominator that a constant makes zero", "tl.exp(x)",
           "tl.exp(x) * (x - 0.375) / (x - 0.375)", "NaN at 0.375", x=0.375),
    broken("a maximum's place as a denominator", "x - tl.max(x)",
           "top = tl.max(x)\nr = (x - top) * y / y", "NaN where y is 0", y=0.0),
    broken("masked rows without a number", _MASKED + "r = tl.where(m != 0, tl.exp(x - top), 0.0)",
           _MASKED + "r = tl.exp(s - top)", "NaN for a row that is masked whole", m=0),
    broken("masked rows without a sum",
           _MASKED + "e = tl.where(m != 0, tl.exp(x - tl.max(x)), 0.0)\n"
           "r = e / (tl.sum(e) + 1e-6)",
           _MASKED + "e = tl.where(m != 0, tl.exp(x - tl.max(x)), 0.0)\nr = e / tl.sum(e)",
           "0 / 0 for a row that is masked whole", m=0),
    broken("masked rows without a guard",
           _MASKED + "top = tl.where(top == float('-inf'), 0.0, top)\nr = tl.exp(s - top)",
           _MASKED + "r = tl.exp(s - top)", "NaN for a row that is masked whole", m=0),
    broken("a sum of masked rows without a guard",
           "e = tl.where(m != 0, x * x, 0.0)\ntotal = tl.sum(e)\n"
           "r = e / tl.where(total == 0, 1.0, total)",
           "e = tl.where(m != 0, x * x, 0.0)\nr = e / tl.sum(e)",
           "0 / 0 for a row that is masked whole", m=0),
    broken("a mask by its complement", "tl.where(m != 0, x, 0.0)", "tl.where(m == 1, x, 0.0)",
           "integers beside 0 and 1", m=2),
    broken("a count of a mask", "tl.sum(x) / tl.maximum(tl.sum(m), 1) + 0 * x",
           "tl.sum(x) / tl.sum(m) + 0 * x", "a division by 0 where the mask is empty", m=0),
    broken("too large to be evaluated", _WIDE.format("top"), _WIDE.format("0.0"),
           "NaN from 89 on", x=100.0, shape=(16, 1 << 19)),
    broken("gathered by integers that were not recorded", _GATHERED.format(" - tl.max(g)"),
           _GATHERED.format(""), "NaN from 89 on", x=100.0),
    broken("a sign by integers that were not recorded", "tl.abs(tl.load(x_ptr + m))",
           "g = tl.load(x_ptr + m)\nr = tl.sqrt(g * g)", "0 at 1e-30", x=1e-30),
    broken("too long to be evaluated", _SLOW.format(400, " - tl.max(x)"), _SLOW.format(400, ""),
           "NaN from 89 on", x=100.0),
    kept("a product of four factors in pairs", "(x * y) * (x * y)", "(x * x) * (y * y)",
         "the same factors: what overflows on the way is left aside"),
    broken("a mean of squares, not of deviations",
           "mean = tl.sum(x) / 64\nr = tl.sum((x - mean) * (x - mean)) / 64 + 0 * x",
           "mean = tl.sum(x) / 64\nr = tl.sum(x * x) / 64 - mean * mean + 0 * x",
           "cancels far from 0", x=tuple(1e4 + n / 64 for n in range(64))),
    broken("a square expanded", "(x - y) * (x - y)", "x * x - 2 * x * y + y * y",
           "cancels where x is nearly y", x=1000.0, y=1000.01),
    broken("one less than what is large", "(x + 1e8) - 1e8 + x", "x + x",
           "what was lost is kept", x=0.3),
    broken("of a large table", "e = tl.exp(x - tl.max(x))\nr = tl.sum(e * x) / tl.sum(e) + 0 * x",
           "e = tl.exp(x)\nr = tl.sum(e * x) / tl.sum(e) + 0 * x", "NaN from 89 on", x=100.0,
           unread=1 << 25),
    kept("a quotient of a sum", "(x + 1) / y", "x / y + 1 / y",
         "NaN where it was infinite", near=1e-2, y=2.0),
    kept("a factor out of a sum", "tl.sum(x * 3.0) + 0 * x", "3.0 * tl.sum(x) + 0 * x",
         near=1e-2),
    kept("a mask twice", _MASKED + "r = tl.where(m != 0, tl.exp(s - top), 0.0)",
         _MASKED + "r = tl.where(m != 0, tl.exp(x - top), 0.0)", m=0),
)  # fmt: skip

CASES = cases_of(PAIRS)
