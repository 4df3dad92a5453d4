"""Trees of elements: how each element of a value is computed, from memory, scalars and formulas.

`tree` has the nodes, `elements` builds them op by op, with `loops` and the `formulas` in them.
Imports what `kvtrace.symbolic` may import.
"""
