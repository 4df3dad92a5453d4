"""Profiles of a trace: time, bytes and FLOPs by kernel. The entry point is `profile.read_profile`.

`profile_text.py` prints a profile. `kvtrace/figures/device_time.py` has all that devices did,
`call_tree.py` the same by call site, `advice.py` what to try. `device_limits.py` derives limits and
rooflines.
"""
