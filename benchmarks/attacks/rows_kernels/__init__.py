"""Kernels that attack `kvtrace invariance`, one file per subject."""
