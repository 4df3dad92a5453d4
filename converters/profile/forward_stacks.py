"""Forward stacks of generated backwards in traces that do not record them, found by their lines.

Inductor knows the lines of the forward from which it generated a backward. The forward that was
generated from these lines has the Python stack that the backward lacks. Example: a backward file
has kernels of `rotate`, line 24, and of `attend`, line 158. The launches of a forward from line 158
have stacks in LlamaAttention, so do those from line 24: the backward is LlamaAttention's. If
forwards of several modules share all lines, nothing is added.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kvtrace.converters.profile.call_paths import Step, TreeLeaf, class_steps

_GENERATED: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")

#: File, line, function and module from which a graph node was traced.
_Place: TypeAlias = tuple[Any, Any, Any, Any]
#: By the modules of a stack, its frames.
_Stacks: TypeAlias = dict[tuple[Step, ...], Sequence[Mapping[str, Any]]]


def with_forward_frames(leaves: Sequence[TreeLeaf]) -> list[TreeLeaf]:
    """Return the leaves; those of generated backwards have the forward's frames if certain."""
    by_place: dict[_Place, _Stacks] = {}
    for leaf in leaves:
        if leaf.frames and not leaf.in_backward:
            modules = class_steps(leaf.frames, ())
            for place in _places(leaf):
                by_place.setdefault(place, {}).setdefault(modules, leaf.frames)
    by_file: dict[str, _Stacks] = {}
    for leaf in leaves:
        file = _backward_file(leaf)
        for stacks in (by_place.get(place) for place in _places(leaf)) if file else ():
            if file and stacks:
                earlier = by_file.get(file, stacks)
                by_file[file] = {key: earlier[key] for key in earlier if key in stacks}
    return [_with_frames(leaf, by_file.get(_backward_file(leaf) or "", {})) for leaf in leaves]


def _with_frames(leaf: TreeLeaf, stacks: _Stacks) -> TreeLeaf:
    if len(stacks) != 1:
        return leaf
    return replace(leaf, forward_frames=next(iter(stacks.values())))


def _places(leaf: TreeLeaf) -> Iterable[_Place]:
    origins = leaf.origins if leaf.kernel is None else leaf.kernel["origins"]
    return {(o["file"], o["line"], o["function"], o["module"]) for o in origins if o["line"]}


def _backward_file(leaf: TreeLeaf) -> str | None:
    """Return the generated file of a leaf of a backward whose forward is not known, else None."""
    if not leaf.in_backward or leaf.forward_frames is not None:
        return None
    files = (str(frame["file"]) for frame in leaf.frames or ())
    return next((file for file in files if _GENERATED.search(file)), None)
