"""Names of collectives in the words of torch, NCCL and RCCL."""

import pytest

from kvtrace.schema.collective_names import bytes_of, listed_ranks, operation_of_word


@pytest.mark.parametrize(
    ("word", "operation"),
    [
        ("nccl:all_reduce", "AllReduce"),
        ("nccl:_all_gather_base", "AllGather"),
        ("allgather_into_tensor_coalesced", "AllGather"),
        ("_reduce_scatter_base", "ReduceScatter"),
        ("all_to_allv", "AllToAll"),
        ("ncclReduceScatter", "ReduceScatter"),
        ("rcclAllReduce", "AllReduce"),
        ("nccl:send 0->1", "Send"),
        ("gloo:barrier", "Barrier"),
        ("nccl:coalesced", "nccl:coalesced"),
    ],
)
def test_operations(word, operation):
    assert operation_of_word(word) == operation


def test_ranks_are_known_only_if_all_are_listed():
    texts = ("[0, 1, 5]", "[0,1]", "[]", "[0, 1, ..., 31]", None)
    assert [listed_ranks(text) for text in texts] == [[0, 1, 5], [0, 1], None, None, None]


def test_size_is_known_of_known_types():
    sizes = [bytes_of(8, "BFloat16"), bytes_of(8, "Float8"), bytes_of(None, "Int"), bytes_of(8, 5)]
    assert sizes == [16, None, None, None]
