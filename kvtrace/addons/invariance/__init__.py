"""Batch invariance: whether a row's result changes with its batch, proven from the kernel's IR."""
