"""The process in which XLA runs: a CPU client of four devices, started by `xla.py` once.

Apart from the tests' own process, which other tests fork: JAX's threads would not survive that.
Reads pickled requests (function, arguments) from its standard input, each after its length in eight
bytes, and answers with (True, result) or (False, text of the error).
"""

import os
import pickle
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# A quarter of the time to compile a small program; what it computes is the same.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=4 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)

import jax
import jax.extend.backend
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib import _jax, xla_client


def compiled(text, replicas):
    """The program of a module, for so many of the devices."""
    client = jax.extend.backend.get_backend("cpu")
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = replicas, 1
    assignment = np.arange(replicas).reshape(replicas, 1)
    options.device_assignment = xla_client.DeviceAssignment.create(assignment)
    # The least optimizing compiles fastest, and leaves the ops' meanings as they are.
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0
    options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    devices = client.devices()[:replicas]
    return client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options), devices


def run(text, arrays):
    """A module's results, given its arguments."""
    program, (device,) = compiled(text, 1)
    on_device = [jax.device_put(np.array(array), device) for array in arrays]
    results = program.execute_sharded(on_device).disassemble_into_single_device_arrays()
    return [np.asarray(result[0]) for result in results]


def run_replicas(text, inputs):
    """Results of each of the four replicas, given the inputs of each."""
    program, devices = compiled(text, len(inputs))
    sharding = NamedSharding(Mesh(np.array(devices), ("replica",)), PartitionSpec("replica"))
    on_devices = []
    for column in zip(*inputs, strict=True):
        shape = (len(inputs) * column[0].shape[0], *column[0].shape[1:])
        parts = [jax.device_put(a, device) for a, device in zip(column, devices, strict=True)]
        on_devices.append(jax.make_array_from_single_device_arrays(shape, sharding, parts))
    results = program.execute_sharded(on_devices).disassemble_into_single_device_arrays()
    return [[np.asarray(result[replica]) for result in results] for replica in range(len(inputs))]


def verified(text):
    """The module as jaxlib's bindings read, verify and print it."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        return str(module.operation.get_asm(enable_debug_info=True))


def hlo_text(text):
    """The module as XLA's HLO text."""
    return _jax.mlir.mlir_module_to_xla_computation(text).as_hlo_text()


FUNCTIONS = {function.__name__: function for function in (run, run_replicas, verified, hlo_text)}


def main():
    jax.config.update("jax_enable_x64", True)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    while size := sys.stdin.buffer.read(8):
        name, arguments = pickle.loads(sys.stdin.buffer.read(int.from_bytes(size)))
        try:
            answer = (True, FUNCTIONS[name](*arguments))
        except Exception as error:
            answer = (False, f"{type(error).__name__}: {error}")
        content = pickle.dumps(answer)
        answers.write(len(content).to_bytes(8) + content)
        answers.flush()


if __name__ == "__main__":
    main()
