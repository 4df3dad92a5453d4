"""Backends: each adapts one source of launches to capture, whose protocol it follows.

A backend lives in a separate folder here, in an add-on, or in another package; each is an entry
point of the group `kvtrace.backends` (`kvtrace.capture.backends`). What Triton and Inductor share
is in `compiled_kernels/`, what every backend may use in the modules of this folder; `cupti/` is the
device timeline. May import capture, clients, and what those may; no backend imports another.
"""
