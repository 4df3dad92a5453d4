"""The Neuron Kernel Interface on NumPy: runs and checks kernels without a Neuron device.

`older/` and `newer/` are the two generations of the public interface (`neuronxcc.nki` and `nki`):
tables of names over `ops/`, where each op is one function. `tensors.py` has tensors and lazily
bound views, `memory.py` the memories that they view, `operations.py` the registration of ops with
their records and checks, `requirements/` the requirements of instructions, `launching.py` kernels
and their launches, and `recorder.py` the record of a launch. May import the schema's errors and the
evaluator's threads, nothing else of kvtrace.
"""
