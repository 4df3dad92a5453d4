"""Names of the modules of Inductor whose import kvtrace waits for."""

from typing import Final

#: The module of Inductor's autotuner.
LIBRARY: Final = "torch._inductor.runtime.triton_heuristics"
#: The module of Inductor's code generation; not imported if all code comes from a cache.
GENERATOR: Final = "torch._inductor.codegen.triton"
