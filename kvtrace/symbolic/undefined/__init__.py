"""Taint of undefined elements: conditions over lanes, propagated through ops and loops.

`definedness` has the conditions, `meanings` the propagation by single ops, `carried` by loops, and
`flow` follows a kernel to the sinks. Imports what `kvtrace.symbolic` may import.
"""
