"""`nki.isa`: names of the newer interface's instructions."""

from kvtrace.addons.neuron import constants  # noqa: F401
from kvtrace.addons.neuron.errors import NkiError as NkiValidationError  # noqa: F401
from kvtrace.addons.neuron.errors import missing_name_handler, refused
from kvtrace.addons.neuron.instructions import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.instructions import ops_of
from kvtrace.addons.neuron.ops import moves, products

dma_copy = moves.dma_copy.older
memset = moves.memset_into.newer
globals().update(ops_of("newer", {products: "nc_matmul_mx quantize_mx"}))
globals().update(refused("nki.isa"))

__getattr__ = missing_name_handler("nki.isa")
