"""Where values are that nothing defined: conditions over lanes, and how ops and loops pass them on.

`values` has the conditions, `meanings` what single ops do to them, `carried` what loops do, and
`flow` follows them through a kernel to where they matter. May import what `kvtrace.symbolic` may.
"""
