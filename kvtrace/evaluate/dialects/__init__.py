"""Meanings of ops, one file per dialect (`tt` is split by subject). See registry.py for the tables.

To add an op: find its dialect's file, write a small pure function, register it, and name the op in
the table below. A file is imported when a module that has one of its ops is evaluated. Only
kvtrace/evaluate imports these files.
"""

from collections.abc import Iterable
from importlib import import_module

#: Files by the ops that they give a meaning, each by its name or by its dialect (with the dot).
FILES: dict[str, tuple[str, ...]] = {
    "arith": ("arith.", "llvm.mlir.constant"),
    "arith_casts": ("arith.", "tt.bitcast"),
    "arith_extended": ("arith.addui_extended", "arith.mulsi_extended", "arith.mului_extended"),
    "math": ("math.",),
    "scf": ("scf.",),
    "cf": ("func.call", "tt.call"),
    "tt_program": (
        "gpu.barrier", "llvm.intr.assume", "llvm.mlir.poison", "llvm.mlir.undef", "nvvm.barrier0",
        "rocdl.barrier", "tt.assert", "tt.debug_barrier", "tt.get_num_programs",
        "tt.get_program_id", "tt.make_range", "tt.print", "ttg.barrier", "ub.poison",
    ),
    "tt_shape": (
        "tt.broadcast", "tt.cat", "tt.descriptor_to_tensor", "tt.expand_dims", "tt.gather",
        "tt.join", "tt.reshape", "tt.splat", "tt.split", "tt.trans", "tt.unsplat",
        "ttg.convert_layout",
    ),
    "tt_memory": ("tt.addptr", "tt.load", "tt.store"),
    "tt_addresses": ("tt.int_to_ptr", "tt.ptr_to_int"),
    "tt_atomic": ("tt.atomic_cas", "tt.atomic_rmw"),
    "tt_reduce": ("tt.histogram", "tt.reduce", "tt.scan"),
    "tt_dot": ("tt.dot", "tt.dot_scaled"),
    "tt_descriptor": (
        "tt.descriptor_gather", "tt.descriptor_load", "tt.descriptor_reduce",
        "tt.descriptor_scatter", "tt.descriptor_store", "tt.make_tensor_descriptor",
    ),
    "tt_elementwise": (
        "tt.clampf", "tt.fp_to_fp", "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt",
    ),
    "libdevice": ("tt.extern_elementwise",),
    "tt_inline": ("tt.elementwise_inline_asm", "tt.map_elementwise"),
}  # fmt: skip

_FILES_OF: dict[str, list[str]] = {}
for _file, _names in FILES.items():
    for _name in _names:
        _FILES_OF.setdefault(_name, []).append(_file)

_loaded: set[str] = set()


def files_of(ops: Iterable[str]) -> dict[str, None]:
    """Return the files of ops, by their names; each once."""
    return {
        file: None
        for name in set(ops)
        for key in (name, name.partition(".")[0] + ".")
        for file in _FILES_OF.get(key, ())
    }


def load_dialects(ops: Iterable[str]) -> None:
    """Import the files of ops, by their names, which fills the tables."""
    for file in files_of(ops):
        if file not in _loaded:
            import_module(f"kvtrace.evaluate.dialects.{file}")
            _loaded.add(file)
