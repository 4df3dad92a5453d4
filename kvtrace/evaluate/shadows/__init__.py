r"""Shadows: values that an instrument computes in addition to a kernel's values, op by op.

`driver.py` runs a module's ops on the kernel's own values and carries the shadows along: through
branches, loops and calls, and through ops that move elements, which run a second time on the
shadows. The effect of any other op on a shadow is defined once, in the shadow's file or folder (in
a file named like the file of `dialects/` that computes the op):

* `ideal.py`: the number that an integer would be if it had no width (the rule overflow).
* `errors/`: bounds of the error of a device that follows the IR: around the evaluator's numbers
(checked launches), or around exact numbers, in the worst case and with a stated chance
(tolerances).
"""
