"""Operators of KernelBench's first level, each as a plain kernel and with a wrong twin."""
