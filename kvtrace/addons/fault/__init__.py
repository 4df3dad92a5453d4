"""Causes of GPU faults: the launch, line and argument at which a program died or hangs."""
