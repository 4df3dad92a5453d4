"""Frames of Triton's launching functions, which torch.compile must not trace while recording.

Dynamo traces each frame that a compiled function calls after a graph break, and inlines what it
calls. It does not bind the hot path, which stands for `JITFunction.run`, to the kernel (torch 2.13:
"'Tensor' object has no attribute 'debug'"), and it cannot trace the evaluator. Frames skipped here,
and all that they call, run as without torch.compile.
"""

import sys
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


def skip_launching_frames() -> None:
    """Make Dynamo skip the frames of Triton's launching functions, and all that they call.

    Nothing is done while torch or Triton is not imported, nor before torch 2.7, which lacks this.
    """
    frames: Any = sys.modules.get("torch")
    for name in ("_C", "_dynamo", "eval_frame"):
        frames = getattr(frames, name, None)
    set_strategy = getattr(frames, "set_code_exec_strategy", None)
    jit, tuner = (sys.modules.get(f"triton.runtime.{name}") for name in ("jit", "autotuner"))
    if set_strategy is None or jit is None or tuner is None:
        return
    skip = frames._FrameAction.SKIP
    strategy = frames._FrameExecStrategy(skip, skip)
    launching = (jit.KernelInterface.__getitem__, tuner.Autotuner.run, tuner.Heuristics.run)
    for function in launching:
        for code in _codes(getattr(function, "__code__", None)):
            set_strategy(code, strategy)


def _codes(code: Any) -> Iterator[CodeType]:
    """Yield a code object and those within it, as of lambdas."""
    if isinstance(code, CodeType):
        yield code
        for constant in code.co_consts:
            yield from _codes(constant)


class DynamoFrames:
    """The backend that waits for Dynamo, which may be imported after Triton was hooked."""

    name: Final = "triton-dynamo-frames"
    libraries: Final = ("torch._dynamo",)

    def install(self, session: "Session") -> None:
        """Make Dynamo, which has just been imported, skip Triton's launching frames."""
        del session
        skip_launching_frames()

    def uninstall(self) -> None:
        """Do nothing: skipping these frames changes no program."""


DYNAMO: Final = DynamoFrames()
