"""The Neuron Kernel Interface on NumPy: kernels run and are checked with no Neuron device.

`older/` and `newer/` are the two generations of the public interface (`neuronxcc.nki` and `nki`),
thin tables of names over `ops/`, where each op is one function. `tensors.py` has tensors and their
lazily bound views, `memory.py` what they lie in, `operations.py` the registration that makes
records and checks of an op, `launching.py` the decorators and grids, `recorder.py` what is kept.
May import the schema's errors and the evaluator's threads, nothing else of kvtrace.
"""
