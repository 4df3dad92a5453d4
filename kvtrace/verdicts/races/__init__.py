"""The rule `race`: two programs of one launch touch a byte, one writes, and nothing orders them.

`rule.py` has the rule's functions. On formulas: `search.py` looks for two programs, or two lanes of
one, that touch a byte, by the `digits.py` of their addresses and two `copies.py` of everything;
`pairs.py` adds what programs may touch together, as `sections.py` (locks) and `same_values.py`. On
runs: `sweep.py` finds who meets, `clocks.py` whether atomics order them, in several `orders.py`;
`swept.py` makes verdicts of it, `replay.py` runs a witness. `parts.py` says what conflicts, and
`telling.py` has the words.
"""

from kvtrace.verdicts.races.rule import concrete as concrete
from kvtrace.verdicts.races.rule import judge as judge
