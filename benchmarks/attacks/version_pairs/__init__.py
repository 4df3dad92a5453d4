"""Pairs of versions of a kernel, one file per subject."""
