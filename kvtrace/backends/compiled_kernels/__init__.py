"""Kernels that Triton's compiler made, whoever launches them: what Triton and Inductor share.

`kernel_records.py` makes records of compiled kernels: `versions.py` holds what differs between
Triton's versions, `generic.py` prints TTIR for machines, `cubin.py` and `hsaco.py` read binaries,
`loads.py` times their loading, `handed_over.py` carries compilations between processes.
`recorded_calls.py` records each call once, `contents_to_copy.py` which tensors are copied,
`judged_launches.py` has new calls judged by `live.py`. May import capture and the verdicts, but
none of the backends.
"""
