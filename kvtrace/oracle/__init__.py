"""What a launch's results may be, by its IR: for checking what a device made of it.

A checked launch (KVTRACE_CHECK) is evaluated again from its TTIR with what its tensors held, and
beside each number goes a radius (kvtrace/evaluate/shadows/radius): how far a device that keeps to
the IR may be from it.

May import `evaluate`, `calls`, `verdicts`, `ir` and `schema`.
"""
