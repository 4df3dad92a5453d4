"""Kernels that attack `kvtrace invariance`, a file a subject."""
