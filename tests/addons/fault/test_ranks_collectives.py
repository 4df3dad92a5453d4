import pytest

from kvtrace.addons.fault.ranks import collective_of


@pytest.mark.parametrize(
    ("kernel", "collective"),
    [
        (
            "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE",
            "NCCL's AllReduce of bf16",
        ),
        (
            "ncclDevKernel_ReduceScatter_Sum_u32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
            "NCCL's ReduceScatter of int32",
        ),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL's AllGather"),
        ("ncclDevKernel_SendRecv", "NCCL's SendRecv"),
        ("ncclDevKernel_Generic", "a collective of NCCL"),
        (
            "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
            "NCCL's AllReduce of fp32",
        ),
        ("all_reduce_kernel", ""),
        ("", ""),
    ],
)
def test_collective_is_named_without_its_operation(kernel, collective):
    """A maximum runs in the kernel of the sum, too."""
    assert collective_of(kernel) == collective
