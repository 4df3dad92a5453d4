"""Operators of KernelBench's first level: what each means, as a plain kernel, and wrong twins."""
