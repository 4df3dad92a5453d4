"""GPU core dumps of NVIDIA's driver, read without the driver: grids, blocks, warps, registers."""
