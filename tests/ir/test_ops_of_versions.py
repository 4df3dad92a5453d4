"""The table of ops, against all ops of TTIR's dialects in each version of Triton."""

import json

import pytest

from kvtrace.ir.ops import KINDS
from tests.support.op_names import DIALECTS
from tests.support.triton_versions import ROOT, run_with, versions

pytest.importorskip("triton")
pytestmark = pytest.mark.process

NAMES = str(ROOT / "tests" / "support" / "op_names.py")
_MLIRS_OWN = "MLIR's own, and no function of Triton's language or pass up to TTIR makes it"

#: Ops that the table leaves out, each with the reason.
LEFT_OUT = {
    **dict.fromkeys(
        (
            "arith.addui_extended", "arith.ceildivsi", "arith.ceildivui", "arith.convertf",
            "arith.floordivsi", "arith.flush_denormals", "arith.mulsi_extended",
            "arith.mului_extended", "arith.scaling_extf", "arith.scaling_truncf",
            "arith.subui_extended", "math.acos", "math.acosh", "math.asin", "math.asinh",
            "math.atan", "math.atan2", "math.atanh", "math.cbrt", "math.clampf", "math.copysign",
            "math.cosh", "math.ctlz", "math.ctpop", "math.cttz", "math.erfc", "math.expm1",
            "math.fpowi", "math.ipowi", "math.isfinite", "math.isinf", "math.isnan",
            "math.isnormal", "math.log10", "math.log1p", "math.powf", "math.rint", "math.round",
            "math.roundeven", "math.sincos", "math.sinh", "math.tan", "math.tanh", "math.trunc",
            "scf.execute_region", "scf.index_switch",
        ),
        _MLIRS_OWN,
    ),
    **dict.fromkeys(
        ("scf.forall", "scf.forall.in_parallel", "scf.parallel", "scf.reduce", "scf.reduce.return"),
        "loops whose trips run at once: a program of Triton has none, and " + _MLIRS_OWN,
    ),
    "cf.switch": "Python's match is refused by Triton, and " + _MLIRS_OWN,
    "cf.assert": "device_assert is tt.assert, and " + _MLIRS_OWN,
    "ub.unreachable": "Triton ends its blocks with tt.return, and " + _MLIRS_OWN,
}  # fmt: skip

#: Ops that every version has: where one is not found, the search for names has failed.
SURE = {"tt.load", "tt.store", "tt.dot", "tt.func", "scf.for", "arith.addf", "math.exp", "cf.br"}


@pytest.mark.parametrize("version", versions())
def test_every_op_of_ttirs_dialects_is_in_the_table(version, tmp_path):
    names = set(json.loads(run_with(version, [NAMES], tmp_path).stdout))
    assert names >= SURE
    assert sorted(names - KINDS.keys() - LEFT_OUT.keys()) == [], (
        "each needs a row in kvtrace/ir/ops.py, or a reason in `LEFT_OUT` of this file"
    )


def test_excluded_ops_are_not_in_the_table():
    assert not LEFT_OUT.keys() & KINDS.keys(), "ops with a row: remove them from `LEFT_OUT` here"
    assert {name.partition(".")[0] for name in LEFT_OUT} <= set(DIALECTS)
