"""`neuronxcc.nki.isa`: names of the older interface's instructions."""

from kvtrace.addons.neuron.constants import engine
from kvtrace.addons.neuron.errors import missing_name_handler, refused
from kvtrace.addons.neuron.instructions import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.instructions import ops_of
from kvtrace.addons.neuron.ops import moves

dma_engine = engine.dma
globals().update(ops_of("older", {moves: "affine_select dma_copy iota memset"}))
globals().update(refused("neuronxcc.nki.isa"))

__getattr__ = missing_name_handler("neuronxcc.nki.isa")
