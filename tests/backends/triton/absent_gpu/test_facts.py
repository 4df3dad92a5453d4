"""What is said of each target's device."""

import pytest

from kvtrace.backends.triton.absent_gpu.facts import (
    capability_of,
    properties_of,
    target_with_facts,
)
from kvtrace.backends.triton.devices import CACHES, DEVICES


@pytest.mark.parametrize(
    ("target", "capability"),
    [
        ("cuda:75", (7, 5)),
        ("cuda:80", (8, 0)),
        ("cuda:120", (12, 0)),
        ("hip:gfx90a", (9, 0)),
        ("hip:gfx942", (9, 4)),
    ],
)
def test_the_capability_is_the_targets(target: str, capability: tuple[int, int]) -> None:
    assert capability_of(target) == capability


# As the CUDA Programming Guide has them for compute capability 8.0 and 9.0.
@pytest.mark.parametrize(
    ("target", "of_a_block", "of_a_multiprocessor"),
    [("cuda:80", 166_912, 167_936), ("cuda:90", 232_448, 233_472), ("cuda:70", 98_304, 98_304)],
)
def test_shared_memory_equals_that_of_the_driver(
    target: str, of_a_block: int, of_a_multiprocessor: int
) -> None:
    properties = properties_of(target)
    assert properties.shared_memory_per_block_optin == of_a_block
    assert properties.shared_memory_per_multiprocessor == of_a_multiprocessor
    assert properties.shared_memory_per_block == 49_152


@pytest.mark.parametrize("target", sorted(DEVICES))
def test_every_known_device_has_the_properties_that_libraries_read(target: str) -> None:
    properties = properties_of(target)
    assert (properties.major, properties.minor) == capability_of(target)
    assert properties.multi_processor_count > 0
    assert properties.name.startswith(("NVIDIA ", "Tesla ", "AMD "))
    assert bool(properties.gcnArchName) == target.startswith("hip:")
    assert hasattr(properties, "L2_cache_size") == (target in CACHES)  # or it would be invented


def test_an_unknown_target_is_replaced_by_the_default_target() -> None:
    assert target_with_facts("cuda:91") == "cuda:90"
    assert target_with_facts("hip:gfx950") == "hip:gfx950"
