"""Shadows: what an instrument follows beside each value of a kernel, op by op.

`driver.py` runs a module's ops on what the kernel computes and carries the shadows along: through
branches, loops and calls, and through whatever moves elements, which is run once more on the
shadows. What an op does to a shadow otherwise is defined once, in the shadow's folder, in a file of
the name that the op's array meaning has in `dialects/`:

* `ideal/`: what an integer would be if it had no width (the rule overflow).
* `errors/`: how far a device that keeps to the IR may be off: from the evaluator's numbers (checked
  launches), or from exact arithmetic, at worst and probably (tolerances).
"""
