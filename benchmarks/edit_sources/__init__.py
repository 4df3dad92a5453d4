"""Edits of public kernels by source; each module has its `SOURCES` and its `EDITS`."""

from types import ModuleType

from benchmarks.edit_sources import fla, liger, sglang, torchao, tritonbench, tutorials

#: Modules by name, as `python -m benchmarks.edits` takes them.
MODULES: dict[str, ModuleType] = {
    "liger": liger,
    "fla": fla,
    "tutorials": tutorials,
    "tritonbench": tritonbench,
    "torchao": torchao,
    "sglang": sglang,
}
