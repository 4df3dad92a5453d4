"""The Neuron Kernel Interface on NumPy: runs and checks kernels without a Neuron device.

`older/` and `newer/` are the two generations of the public interface (`neuronxcc.nki` and `nki`):
tables of names over `ops/`, where each op is one function. `tensors.py` has tensors and lazily
bound views, `tiles.py` what kernels see of them, `memory.py` the memories that they view,
`operations.py` the definition of ops with their records and checks, `launching.py` kernels and
their launches, and `recorder.py` the record of a launch. May import the schema's errors, the
evaluator's threads and capture's frames of stacks, nothing else of kvtrace.

A kernel runs as the plain Python that it is. Tensors are views (offset, shape, strides) of a
`Memory`; a view whose index is not affine, or leaves the tensor, is bound when an op reads or
writes it, for the op knows the mask. A rule that is broken is a `Finding` and the run continues;
what NKI does not have, or kvtrace does not run (`errors.py`), is an `NkiError`.
"""
