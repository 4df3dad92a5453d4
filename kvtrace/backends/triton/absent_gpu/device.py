"""Installation of the absent GPU into torch, part by part."""

from typing import TYPE_CHECKING

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.answers import install_answers
from kvtrace.backends.triton.absent_gpu.collectives import install_collectives
from kvtrace.backends.triton.absent_gpu.facts import target_with_facts
from kvtrace.backends.triton.absent_gpu.generators import install_generators
from kvtrace.backends.triton.absent_gpu.host_tensors import install_host_tensors
from kvtrace.backends.triton.absent_gpu.operators import install_operators
from kvtrace.backends.triton.absent_gpu.torch_device import UnknownBuild, install_device
from kvtrace.backends.triton.absent_gpu.torch_functions import install_functions

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

__all__ = ["UnknownBuild", "install_everything"]


def install_everything(session: "Session") -> Replacements:
    """Make torch report one GPU, with tensors, operators, generators and collectives of kvtrace.

    Raises:
        UnknownBuild: torch's build is unknown; nothing was changed.

    """
    target = target_with_facts(session.settings.target)
    device = Replacements()
    try:
        install_device(device)
    except UnknownBuild:
        device.undo()
        raise
    replaced = install_answers(session, target, reports_gpu=True)
    replaced.undone_by(device.undo)
    install_operators(replaced)
    install_generators(replaced)
    install_functions(replaced, target)
    install_host_tensors(replaced)
    install_collectives(replaced)
    return replaced
