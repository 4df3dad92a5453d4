"""The Neuron Kernel Interface on NumPy: runs and checks kernels without a Neuron device.

`older/` and `newer/` are the two generations of the public interface (`neuronxcc.nki` and `nki`):
tables of names over `ops/`, where each op is one function. `tensors.py` has tensors and lazily
bound views, `memory.py` the memories that they view, `operations.py` the definition of ops with
their records and checks, `requirements/` the requirements of instructions, `launching.py` kernels
and their launches, and `recorder.py` the record of a launch. May import the schema's errors, the
evaluator's threads and capture's frames of stacks, nothing else of kvtrace.

A kernel runs as the plain Python that it is. Tensors are views (offset, shape, strides) of a
`Memory`; a view whose index is not affine, or leaves the tensor, is bound when an op reads or
writes it, for the op knows the mask. A state per element (never written, garbage, defined) spreads
through ops. A rule that is broken is a `Finding` and the run continues; what NKI does not have is
an `NkiError`. Programs that wait for each other run in threads, one at a time (`launching.py`). As
there is no IR to evaluate later, the first launch of each unique call is observed while it runs.
"""
