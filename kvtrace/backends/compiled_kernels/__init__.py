"""Kernels that Triton's compiler made, whoever launches them: code shared by Triton and Inductor.

`kernel_records.py` makes records of compiled kernels: `versions.py` has the differences between
Triton's versions, `generic.py` prints TTIR in generic form, `cubin.py` reads binaries,
`loads.py` times their loading, `handed_over.py` passes compilations between processes.
`recorded_calls.py` records each call once, `contents_to_copy.py` chooses the tensors to copy,
`judged_launches.py` judges new calls by `call_judge.py`. This package may import capture and the
verdicts, but none of the backends.
"""
