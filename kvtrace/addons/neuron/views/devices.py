"""Peak rates of one core of each target, from AWS Neuron's documentation."""

from typing import Final

from kvtrace.converters.profile.device_limits import DeviceLimits, rates

_DOCUMENTATION: Final = "AWS Neuron: "


def _core(
    name: str, target_name: str, gigabytes_per_second: float, source: str,
    matrix: dict[str, float], vector: dict[str, float],
) -> DeviceLimits:  # fmt: skip
    return DeviceLimits(
        name,
        (target_name,),
        gigabytes_per_second * 1e9,
        matrix,
        vector,
        _DOCUMENTATION + source,
        has_caches=False,
        targets=(f"neuron:{target_name}",),
    )


DEVICES: Final = (
    _core("Trainium, one of its 2 cores", "trn1", 410,
          "Trainium and NeuronCore-v2 architecture, the chip's figures halved",
          rates(f32=23.75, tf32=95, f16=95, bf16=95, f8=95), rates(f32=2.3)),
    _core("Trainium2, one of its 8 cores", "trn2", 362.5,
          "Trainium2 and NeuronCore-v3 architecture, the chip's figures by 8",
          rates(f32=22.6, tf32=79, f16=79, bf16=79, f8=158), rates(f32=1)),
    _core("Trainium3, one of its 8 cores", "trn3", 612.5,
          "Trainium3 and NeuronCore-v4 architecture, the chip's figures by 8",
          rates(f32=22.9, tf32=83.9, f16=83.9, bf16=83.9, f8=315), rates(f32=1.2)),
)  # fmt: skip
