"""Pairs of versions of a kernel, by what they are about."""
