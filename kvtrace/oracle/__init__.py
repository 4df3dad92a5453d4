"""What a launch's results may be, by its IR: for checking what a device made of it.

A checked launch (KVTRACE_CHECK) is evaluated again from its TTIR with what its tensors held, and
beside each number goes a bound on how far a device that keeps to the IR may be from it: from the
operations' roundings, the order of sums, the precision of products, the accuracy of functions.

May import `evaluate`, `calls`, `verdicts`, `ir` and `schema`.
"""
