"""XLA on CPU, through jaxlib: compiles StableHLO text and runs it. One client for all tests."""

import os
import re
from functools import cache

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# A quarter of the time to compile a small program; what it computes is the same.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)

import jax
import jax.extend.backend
import numpy as np
from jaxlib import xla_client


@cache
def client():
    jax.config.update("jax_enable_x64", True)
    return jax.extend.backend.get_backend("cpu")


def verified(text):
    """The module as jaxlib's bindings read and verify it."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    context = mlir.make_ir_context()
    with context:
        module = ir.Module.parse(text)
        assert module.operation.verify()
        return str(module.operation.get_asm(enable_debug_info=True))


def run(text, *arrays):
    """The module's results, given its arguments."""
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    # The least optimising compiles fastest, and leaves the ops' meanings as they are.
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0
    options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    device = client().devices()[0]
    devices = xla_client.DeviceList((device,))
    program = client().compile_and_load(text, devices, options)
    given = [jax.device_put(np.array(array), device) for array in arrays]
    results = program.execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(result[0]) for result in results]


def hlo_text(text):
    """The module as XLA's HLO text."""
    from jaxlib import _jax

    return _jax.mlir.mlir_module_to_xla_computation(text).as_hlo_text()


def aliases(text):
    """Which argument each result is written into, as XLA reads the module: {result: argument}."""
    header = hlo_text(text).splitlines()[0]
    found = re.search(r"input_output_alias=\{(.*?)\}, entry", header)
    pairs = re.findall(r"\{(\d*)\}: \((\d+)", found.group(1)) if found else []
    return {int(result or 0): int(argument) for result, argument in pairs}
