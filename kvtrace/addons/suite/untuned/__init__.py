"""Configurations that are not tuned for the sizes that they run with, and what proves it.

`autotuners.py` reads a kernel's autotuner from its recorded source, `library_files.py` says which
libraries read configurations from files and what a recording noted of them (`recording.py`),
`reasons.py` judges the calls of a run, and `section.py` sums them up for the profile.
"""
