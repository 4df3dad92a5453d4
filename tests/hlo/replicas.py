"""Collectives on four devices of XLA's CPU client; run by test_distributed.py in its own process.

Reads StableHLO modules and their inputs from a pickle, writes each replica's results to another.
"""

import os
import pickle
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=4 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)

import jax
import jax.extend.backend
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib import xla_client


def run(text, inputs):
    """Results of each of the four replicas, given the inputs of each."""
    client = jax.extend.backend.get_backend("cpu")
    devices = client.devices()[:4]
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 4, 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(4).reshape(4, 1))
    program = client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options)
    sharding = NamedSharding(Mesh(np.array(devices), ("replica",)), PartitionSpec("replica"))
    given = []
    for column in zip(*inputs, strict=True):
        shape = (4 * column[0].shape[0], *column[0].shape[1:])
        parts = [jax.device_put(a, device) for a, device in zip(column, devices, strict=True)]
        given.append(jax.make_array_from_single_device_arrays(shape, sharding, parts))
    results = program.execute_sharded(given).disassemble_into_single_device_arrays()
    return [[np.asarray(result[replica]) for result in results] for replica in range(4)]


def main():
    jax.config.update("jax_enable_x64", True)
    cases = pickle.loads(Path(sys.argv[1]).read_bytes())
    done = {name: run(text, inputs) for name, (text, inputs) in cases.items()}
    Path(sys.argv[2]).write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    main()
