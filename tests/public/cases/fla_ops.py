"""Operators of `fla.ops`: forward and backward against FLA's own references.

Each is called with sequences of one length and, where it takes `cu_seqlens`, with several packed
into one, whose reference is the reference of each sequence alone.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F

from tests.public.case import Outcome, add, tensors

Make = Callable[[int], torch.Tensor]
Reference = Callable[..., Any] | str | None

LENGTH, HEADS, KEYS, VALUES = 100, 2, 32, 64
STARTS = (0, 37, LENGTH)


def _random(*last: int, size: float = 1.0) -> Make:
    return lambda length: torch.randn(1, length, *last) * size


def _unit(*last: int) -> Make:
    return lambda length: F.normalize(torch.randn(1, length, *last), dim=-1)


def _decay(*last: int) -> Make:
    return lambda length: F.logsigmoid(torch.randn(1, length, *last) + 2)


def _share(*last: int) -> Make:
    return lambda length: torch.rand(1, length, *last).sigmoid()


def _fixed(*shape: int) -> Make:
    return lambda _length: torch.randn(*shape)


#: What an argument's tensor is like, by the name used in `_op`.
KINDS: dict[str, Make] = {
    "key": _random(HEADS, KEYS, size=0.5),
    "unit": _unit(HEADS, KEYS),
    "value": _random(HEADS, VALUES),
    "square": _random(HEADS, KEYS),
    "keydecay": _decay(HEADS, KEYS),
    "valuedecay": _decay(HEADS, VALUES),
    "decay": _decay(HEADS),
    "share": _share(HEADS),
    "keyshare": _share(HEADS, KEYS),
    "valueshare": _share(HEADS, VALUES),
    "slots": _random(HEADS, 32),
    "slotdecay": _decay(HEADS, 32),
    "wholeunit": _unit(HEADS, KEYS),
    "wholeshare": _share(HEADS),
    "long": _random(1, 64, size=0.5),
    "small": _random(HEADS, 16),
    "ridge": lambda _length: torch.rand(HEADS, KEYS) + 1,
    "unit2": lambda length: _unit(HEADS, KEYS)(2 * length),
    "value2": lambda length: _random(HEADS, VALUES)(2 * length),
    "share2": lambda length: _share(HEADS)(2 * length),
    "manyqueries": _random(16, KEYS),
    "square1": _random(1, KEYS),
    "gates": _share(16),
    "scale": _fixed(HEADS, KEYS),
    "shift": _fixed(HEADS, KEYS),
    "rate": lambda length: torch.rand(1, length, HEADS, 1) * 0.1,
    "channel": lambda _length: torch.rand(KEYS),
    "memory": lambda _length: torch.zeros(1, 3, 1, KEYS),
    "bonus": _fixed(HEADS, KEYS),
    "queries": _random(4, KEYS),
    "plaindecay": _decay(KEYS),
    "plain": _random(KEYS),
    "levels": lambda length: torch.rand(1, length, HEADS, 8),
}


#: Kinds that are in float32 though they are no decays.
WHOLE = frozenset({"wholeunit", "wholeshare", "ridge", "channel", "memory"})


def _found(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _op(
    path: str,
    inputs: Mapping[str, str],
    reference: Reference = None,
    *,
    renamed: Mapping[str, str] | None = None,
    also: Mapping[str, Any] | None = None,
    reference_also: Mapping[str, Any] | None = None,
    varlen: bool = True,
    backward: bool = True,
    lengths: bool = True,
    tolerance: float = 2e-2,
    name: str | None = None,
) -> None:
    """Register an operator: at one length, and with packed sequences (`varlen`).

    `inputs` are arguments and their kinds; `renamed` what the reference calls them; `also` are
    further arguments of the operator, and `reference_also` of the reference.
    """
    run = partial(
        _run, path, dict(inputs), reference, dict(renamed or {}), dict(also or {}),
        dict(reference_also or {}), backward, tolerance,
    )  # fmt: skip
    name = name or path.rpartition(":")[2]
    if lengths:
        add("fla", name, partial(run, (0, LENGTH)))
    if varlen:
        add("fla", f"{name}_varlen", partial(run, STARTS))


def _run(
    path: str,
    inputs: dict[str, str],
    reference: Reference,
    renamed: dict[str, str],
    also: dict[str, Any],
    reference_also: dict[str, Any],
    backward: bool,
    tolerance: float,
    starts: tuple[int, ...],
) -> Outcome:
    given = {key: _made(kind, backward) for key, kind in inputs.items()}
    packed = {"cu_seqlens": torch.tensor(starts)} if len(starts) > 2 else {}
    got = _first(_found(path)(**given, **also, **packed))
    upstream = torch.randn_like(got)
    ours = _with_gradients(got, given, upstream, backward)
    if reference is None:
        return Outcome(tensors(*ours), None, tolerance)
    function = _found(reference) if isinstance(reference, str) else reference
    parts = []
    exact = {key: x.float() for key, x in given.items()}
    for begin, end in pairwise(starts):
        part = {
            renamed.get(key, key): x[:, begin:end] if x.shape[:2] == (1, LENGTH) else x
            for key, x in exact.items()
        }
        parts.append(_first(function(**part, **reference_also)))
    wanted = torch.cat(parts, 1)
    theirs = _with_gradients(wanted.to(got.dtype), given, upstream, backward)
    # FLA's naive forms let some gradients go, which are then compared with nothing.
    known = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return Outcome(tuple(a for a, _ in known), tuple(b for _, b in known), tolerance)


def _made(kind: str, backward: bool) -> torch.Tensor:
    """Make an input as mixed precision has it: decays in float32, all else in bfloat16."""
    made = KINDS[kind](LENGTH)
    if "decay" not in kind and kind not in WHOLE:
        made = made.bfloat16()
    return made.requires_grad_(backward)


def _first(returned: Any) -> torch.Tensor:
    return tensors(returned)[0]


def _with_gradients(
    out: torch.Tensor, given: dict[str, torch.Tensor], upstream: torch.Tensor, backward: bool
) -> tuple[torch.Tensor | None, ...]:
    """Return the result, and the gradient of each input, None where there is none."""
    if not backward:
        return (out,)
    loss = (out.float() * upstream.float()).sum()
    return (out, *torch.autograd.grad(loss, list(given.values()), allow_unused=True))


QKV = {"q": "key", "k": "key", "v": "value"}
UNIT = {"q": "unit", "k": "unit", "v": "value"}
SQUARE = {"q": "key", "k": "key", "v": "square"}
GROUPED = {"q": "queries", "k": "key", "v": "value"}
STATE = {"output_final_state": True}
PRECOND = "fla.ops.precond"


def recurrence(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    decay: torch.Tensor | None = None,
    a: torch.Tensor | None = None,
    b: torch.Tensor | None = None,
    scale: float | None = None,
) -> torch.Tensor:
    """State after state: S = exp(decay) S + b (a S) + k v; the output is q S.

    Shapes are (1, length, heads, keys or values); `decay` may lack the keys.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])
    outputs = []
    for t in range(q.shape[1]):
        before = state
        if decay is not None:
            now = decay[:, t].exp()
            state = state * (now[..., None] if now.dim() == 3 else now[..., None, None])
        if a is not None and b is not None:
            seen = torch.einsum("bhk,bhkv->bhv", a[:, t], before)
            state = state + b[:, t, :, :, None] * seen[:, :, None]
        state = state + k[:, t, :, :, None] * v[:, t, :, None]
        outputs.append(torch.einsum("bhk,bhkv->bhv", q[:, t] * scale, state))
    return torch.stack(outputs, 1)


def delta(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor,
    g: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """The delta rule, on the state that has decayed by exp(g), for all keys or each."""
    seen = k
    if g is not None:
        seen = k * (g.exp() if g.dim() == 4 else g.exp()[..., None])
    written = k * beta[..., None]
    return recurrence(q, written, v, decay=g, a=seen, b=-written)


def comba(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, p: torch.Tensor, g: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """As in FLA's kernels, which read the state before its decay; FLA's naive form, after it."""
    written = k * beta[..., None]
    return recurrence(q, written, v, decay=g, a=p, b=-written)


def retention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads = torch.arange(q.shape[2])
    decay = (1 - 2.0 ** (-5.0 - heads)).log().expand(q.shape[:3])
    return recurrence(q, k, v, decay=decay)


def causal(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, weigh: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Attention whose weights are a function of the scores, and zero ahead."""
    groups = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
    scores = torch.einsum("bqhk,bthk->bhqt", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhqt,bthv->bqhv", weigh(scores), v)


def heads_first(path: str, *given: torch.Tensor) -> torch.Tensor:
    """Call a reference that has the heads before the length."""
    return _first(_found(path)(*(x.transpose(1, 2) for x in given))).transpose(1, 2)


def normalized(path: str, **given: torch.Tensor) -> Any:
    """Call a reference with what its operator's kernels do first: directions of length one."""
    unit = {key: F.normalize(x, dim=-1) for key, x in given.items() if key in "qkp"}
    return _found(path)(**(given | unit))


def softmax_below(scores: torch.Tensor) -> torch.Tensor:
    ahead = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(ahead, float("-inf")).softmax(-1)


for kind in ("chunk", "fused_chunk", "fused_recurrent"):
    recurrent = kind == "fused_recurrent"
    if kind != "fused_chunk":
        _op(f"fla.ops.gla:{kind}_gla", QKV | {"gk" if recurrent else "g": "keydecay"},
            lambda q, k, v, decay: recurrence(q, k, v, decay=decay),
            renamed={"g": "decay", "gk": "decay"}, also=STATE)  # fmt: skip
        _op(f"fla.ops.delta_rule:{kind}_delta_rule", UNIT | {"beta": "share"}, delta, also=STATE)
        _op(f"fla.ops.gated_delta_rule:{kind}_gated_delta_rule",
            UNIT | {"g": "decay", "beta": "share"}, delta, also=STATE,
            backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.kda:{kind}_kda", UNIT | {"g": "keydecay", "beta": "share"}, delta,
            also=STATE, backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.generalized_delta_rule:{kind}_iplr_delta_rule",
            QKV | {"a": "unit", "b": "unit"}, recurrence, also=STATE,
            backward=recurrent)  # fmt: skip
        _op(f"fla.ops.generalized_delta_rule:{kind}_dplr_delta_rule",
            QKV | {"a": "unit", "b": "unit", "gk": "keydecay"}, recurrence,
            renamed={"gk": "decay"}, also=STATE, backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.rwkv7:{kind}_rwkv7",
            {"r": "key", "w": "keydecay", "k": "key", "v": "value", "a": "unit", "b": "unit"},
            partial(recurrence, scale=1.0), renamed={"r": "q", "w": "decay"},
            also={"scale": 1.0}, backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.rwkv6:{kind}_rwkv6",
            {"r": "key", "k": "key", "v": "value", "w": "keydecay", "u": "bonus"},
            lambda r, k, v, w, u: _found("fla.ops.rwkv6.recurrent_naive:naive_recurrent_rwkv6")(
                *(x.transpose(1, 2) for x in (r, k, v, w)), u)[0].transpose(1, 2))  # fmt: skip
        _op(f"fla.ops.comba:{kind}_comba",
            {"q": "unit", "k": "unit", "v": "value", "p": "unit", "g": "decay", "beta": "share"},
            comba, also=STATE, backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.lightning_attn:{kind}_lightning_attn", QKV,
            also={"layer_idx": 1, "num_layers": 4})  # fmt: skip
        _op(
            f"fla.ops.gsa:{kind}_gsa",
            QKV | {"s": "slots", "g": "slotdecay"},
            "fla.ops.gsa.naive:naive_recurrent_gsa",
        )
        _op(f"fla.ops.precond_gated_delta_rule:{kind}_precond_gated_delta_rule",
            UNIT | {"g_atk": "decay", "g": "decay", "beta_atk": "share", "beta": "share"},
            f"{PRECOND}_gated_delta_rule.naive:naive_recurrent_precond_gated_delta_rule",
            backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.precond_kda:{kind}_precond_kda",
            UNIT | {"g": "keydecay", "g_atk": "decay", "beta_atk": "share", "beta": "share"},
            partial(normalized, f"{PRECOND}_kda.naive:naive_recurrent_precond_kda"),
            backward=not recurrent)  # fmt: skip
        _op(f"fla.ops.momentum_delta_rule:{kind}_momentum_delta_rule",
            UNIT | {"log_alpha": "decay", "log_mu": "decay", "p": "unit", "beta": "share",
                    "eta": "share"},
            partial(normalized,
                    "fla.ops.momentum_delta_rule.naive:recurrent_momentum_delta_rule_ref"),
            also={"use_p_times_alpha": False}, backward=not recurrent, varlen=False)  # fmt: skip
    _op(f"fla.ops.simple_gla:{kind}_simple_gla", QKV | {"g": "decay"},
        lambda q, k, v, g: recurrence(q, k, v, decay=g), also=STATE)  # fmt: skip
    _op(f"fla.ops.retention:{kind}_retention", QKV, retention, also=STATE)
    _op(f"fla.ops.linear_attn:{kind}_linear_attn", QKV, recurrence,
        also=STATE | {"normalize": False})  # fmt: skip

_op("fla.ops.simple_gla:parallel_simple_gla", QKV | {"g": "decay"},
    lambda q, k, v, g: recurrence(q, k, v, decay=g))  # fmt: skip
_op("fla.ops.retention:parallel_retention", QKV, retention)
_op("fla.ops.hgrn:fused_recurrent_hgrn", {"x": "plain", "g": "plaindecay"},
    "fla.ops.hgrn.naive:naive_recurrent_hgrn")  # fmt: skip
_op("fla.ops.hgrn:chunk_hgrn", {"x": "plain", "g": "plaindecay"},
    "fla.ops.hgrn.naive:naive_recurrent_hgrn", varlen=False)  # fmt: skip
_op("fla.ops.abc:chunk_abc", QKV | {"s": "slots"},
    lambda q, k, v, s: heads_first("fla.ops.abc.naive:naive_recurrent_abc", q, k, v, s),
    varlen=False)  # fmt: skip
_op("fla.ops.attn:parallel_attn", GROUPED, partial(causal, weigh=softmax_below))
_op("fla.ops.attn:parallel_attn", GROUPED, also={"window_size": 30},
    name="parallel_attn_window", reference="fla.ops.attn.naive:naive_parallel_attn",
    reference_also={"window_size": 30})  # fmt: skip
_op("fla.ops.forgetting_attn:parallel_forgetting_attn", QKV | {"g": "decay"},
    "fla.ops.forgetting_attn.naive:naive_forgetting_attn")  # fmt: skip
_op("fla.ops.stickbreaking_attn:parallel_stickbreaking_attn", SQUARE,
    "fla.ops.stickbreaking_attn.naive:naive_stickbreaking_attn")  # fmt: skip
_op("fla.ops.parallax:parallel_parallax", {"q": "key", "r": "key", "k": "key", "v": "square"},
    "fla.ops.parallax.naive:naive_parallax")  # fmt: skip
_op("fla.ops.wall_attn:parallel_wall_attn", QKV | {"g": "keydecay"},
    "fla.ops.wall_attn.naive:naive_wall_attn",
    reference_also={"scale": KEYS**-0.5})  # fmt: skip
SMALL = {"q": "small", "k": "small", "v": "value"}
for kind in ("parallel", "fused_chunk"):
    _op(f"fla.ops.based:{kind}_based", SMALL,
        lambda q, k, v: heads_first("fla.ops.based.naive:naive_parallel_based", q, k, v),
        varlen=False)  # fmt: skip
_op("fla.ops.rebased:parallel_rebased", SMALL,
    lambda q, k, v: heads_first("fla.ops.rebased.naive:naive_parallel_rebased", q, k, v),
    varlen=False, tolerance=4e-2)  # fmt: skip
_op("fla.ops.log_linear_attn:chunk_log_linear_attn",
    {"q": "long", "k": "long", "v": "value", "g": "decay", "level_scales": "levels"},
    "fla.ops.log_linear_attn.naive:naive_log_linear_attn", varlen=False,
    backward=False)  # fmt: skip
_op("fla.ops.mesa_net:chunk_mesa_net",
    {"q": "unit", "k": "unit", "v": "square", "g": "decay", "beta": "share", "lamb": "ridge"},
    "fla.ops.mesa_net.naive:naive_mesa_net_exact")  # fmt: skip
_op("fla.ops.path_attn:parallel_path_attn",
    {"q": "key", "k": "key", "v": "square", "w": "wholeunit", "beta": "wholeshare", "g": "decay"},
    "fla.ops.path_attn.naive:naive_path_attn",
    reference_also={"scale": KEYS**-0.5}, varlen=False)  # fmt: skip
_op("fla.ops.path_attn:parallel_path_attn",
    {"q": "key", "k": "key", "v": "square", "w": "wholeunit", "beta": "wholeshare", "g": "decay"},
    lengths=False)  # fmt: skip
_op("fla.ops.gdn2:chunk_gdn2",
    UNIT | {"g": "keydecay", "b": "keyshare", "w": "valueshare"},
    "fla.ops.gdn2.naive:naive_recurrent_gdn2")  # fmt: skip
_op("fla.ops.gdn2:fused_recurrent_gdn2",
    UNIT | {"g": "keydecay", "b": "keyshare", "w": "valueshare"},
    "fla.ops.gdn2.naive:naive_recurrent_gdn2", backward=False)  # fmt: skip
_op("fla.ops.gated_delta_product:chunk_gated_delta_product",
    {"q": "unit", "k": "unit2", "v": "value2", "g": "decay", "beta": "share2"},
    also={"num_householder": 2}, varlen=False)  # fmt: skip
_op("fla.ops.nsa:parallel_nsa",
    {"q": "manyqueries", "k": "square1", "v": "square1", "g_cmp": "gates", "g_slc": "gates"},
    also={"block_counts": 2, "block_size": 16}, varlen=True)  # fmt: skip
_op("fla.ops.gated_oja_rule:chunk_gated_oja_rule",
    UNIT | {"gv": "valuedecay", "beta": "share"})  # fmt: skip
_op("fla.ops.gated_oja_rule:fused_recurrent_gated_oja_rule",
    UNIT | {"gv": "valuedecay", "beta": "share"}, backward=False)  # fmt: skip
_op("fla.ops.ttt:chunk_ttt_linear",
    {"q": "unit", "k": "unit", "v": "square", "w": "scale", "b": "shift", "eta": "rate"},
    also={"chunk_size": 16}, varlen=False)  # fmt: skip
_op("fla.ops.ttt:fused_chunk_ttt_linear",
    {"q": "unit", "k": "unit", "v": "square", "w": "scale", "b": "shift", "eta": "rate"},
    also={"chunk_size": 16}, varlen=False)  # fmt: skip
_op("fla.ops.rwkv4:fused_recurrent_rwkv4",
    {"w": "channel", "u": "channel", "k": "plain", "v": "plain", "state": "memory"},
    varlen=False)  # fmt: skip
