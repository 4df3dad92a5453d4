"""Backends: each hooks one library that launches kernels, and passes its launches to capture.

A backend lives in a separate folder here, in an add-on, or in another package; each is an entry
point of the group `kvtrace.backends` (`kvtrace.capture.backends`). `compiled_kernels/` is code
shared by Triton and Inductor, the modules of this folder are for every backend, and `cupti/` is the
device timeline. May import capture, clients and what they may import; no backend imports another.
"""
