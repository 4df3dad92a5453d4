"""Where time, bytes and FLOPs of a trace go: `profile.read_profile` is the way in.

`profile_text.py` prints it. `device_time.py` and `device_busy.py` are what devices did,
`call_tree.py` the same by where calls come from, `advice.py` what to try. Limits and rooflines are
derived: `device_limits.py`, `roofline.py`.
"""
