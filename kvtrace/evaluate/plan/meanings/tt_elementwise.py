"""Planning of casts between types of floats."""

from kvtrace.evaluate.plan.meanings import planned
from kvtrace.evaluate.plan.meanings.arith_casts import float_cast

planned("tt.fp_to_fp")(float_cast)
