"""The modules of Inductor whose import kvtrace waits for."""

from typing import Final

#: Holds Inductor's autotuner.
LIBRARY: Final = "torch._inductor.runtime.triton_heuristics"
#: Generates the kernels' code; it is not imported where all comes from a cache.
GENERATOR: Final = "torch._inductor.codegen.triton"
