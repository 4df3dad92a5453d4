"""Kernels written to break a verdict by people who had not read its rule.

One module for each rule: about 60 cases, half of them wrong in ways that the rule's page does not
name. What is true was decided first, by reading and by exhaustive evaluation; `python -m
benchmarks.attacks RULE` asks kvtrace and counts answers that are false.
"""
