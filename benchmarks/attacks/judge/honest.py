"""Honest candidates, each with its reference and shapes."""

from benchmarks.attacks.judge.question import Question, cases

_TYPES = ("f32", "f16", "bf16")
_OF_TYPES = {
    "softmax": "x={0}[64, 100]",
    "log_softmax": "x={0}[64, 100]",
    "rms_norm": "x={0}[32, 100], weight={0}[100], eps=1e-6",
    "layer_norm": "x={0}[32, 100], weight={0}[100], bias={0}[100], eps=1e-5",
    "row_sum": "x={0}[64, 100]",
    "row_mean": "x={0}[64, 100]",
    "argmax": "x={0}[64, 100]",
    "gelu": "x={0}[1000]",
    "swiglu": "gate={0}[1000], up={0}[1000]",
}
_OPERATORS = {
    "scaled": "x=f32[16, 200]",
    "relu": "x=f32[16, 200]",
    "leaky_relu": "x=f32[16, 200]",
    "sigmoid": "x=f32[16, 200]",
    "tanh": "x=f32[16, 200]",
    "swish": "x=f32[16, 200]",
    "gelu": "x=f32[16, 200]",
    "selu": "x=f32[16, 200]",
    "hard_sigmoid": "x=f32[16, 200]",
    "softplus": "x=f32[16, 200]",
    "softsign": "x=f32[16, 200]",
    "elu": "x=f32[16, 200]",
    "hard_tanh": "x=f32[16, 200]",
    "gelu_by_tanh": "x=f32[16, 200]",
    "sum_of": "x=f32[4, 48, 20]",
    "mean": "x=f32[4, 48, 20]",
    "max_of": "x=f32[4, 48, 20]",
    "argmax": "x=f32[4, 48, 20]",
    "argmin": "x=f32[4, 48, 20]",
    "min_of": "x=f32[4, 48, 20]",
    "softmax": "x=f32[16, 200]",
    "log_softmax": "x=f32[16, 200]",
    "instance_norm": "x=f32[2, 3, 8, 10]",
    "rms_norm": "x=f32[16, 200]",
    "l1_norm": "x=f32[16, 200]",
    "l2_norm": "x=f32[16, 200]",
    "layer_norm": "x=f32[16, 200], y=f32[200], z=f32[200]",
    "max_pool1d": "x=f32[4, 8, 40]",
    "max_pool2d": "x=f32[2, 3, 16, 18]",
    "avg_pool1d": "x=f32[4, 8, 40]",
    "avg_pool2d": "x=f32[2, 3, 18, 18]",
    "square_product": "x=f32[32, 32], y=f32[32, 32]",
    "product": "x=f32[32, 48], y=f32[48, 32]",
    "product_of_symmetric": "x=f32[32, 32], y=f32[32, 32]",
    "batched_product": "x=f32[3, 32, 48], y=f32[3, 48, 16]",
    "matrix_times_vector": "x=f32[64, 300], y=f32[300, 1]",
    "product_large_K": "x=f32[16, 700], y=f32[700, 16]",
    "product_small_K": "x=f32[32, 8], y=f32[8, 32]",
    "product_irregular": "x=f32[33, 37], y=f32[37, 29]",
    "product_tall": "x=f32[64, 16], y=f32[16, 24]",
    "of_3D_product": "x=f32[3, 16, 48], y=f32[48, 16]",
    "of_4D_product": "x=f32[2, 3, 8, 48], y=f32[48, 16]",
    "product_of_a_transposed": "x=f32[48, 32], y=f32[48, 24]",
    "product_with_a_transposed": "x=f32[32, 48], y=f32[24, 48]",
    "product_of_two_transposed": "x=f32[48, 32], y=f32[24, 48]",
    "upper_triangular_product": "x=f32[24, 32], y=f32[32, 24]",
    "lower_triangular_product": "x=f32[24, 32], y=f32[32, 24]",
    "diagonal_times_matrix": "x=f32[16], y=f32[16, 200]",
    "cumsum": "x=f32[16, 200]",
    "cumsum_reverse": "x=f32[16, 200]",
    "MSE_loss": "x=f32[16, 60], y=f32[16, 60]",
    "Huber_loss": "x=f32[16, 60], y=f32[16, 60]",
    "KL_divergence": "x=f32[16, 60], y=f32[16, 60]",
    "hinge_loss": "x=f32[16, 60], y=f32[16, 60]",
}
ROWS = ("x=f32[64, 100]",)
FLAT = ("x=f32[1000]",)
NORM = "x={0}[32, 128], weight={0}[128], eps=1e-6"
QUESTIONS = [
    *(
        Question(f"rows:{name}", name, (shape.format(kind),))
        for name, shape in _OF_TYPES.items()
        for kind in _TYPES
    ),
    Question("rows:deviation", "deviation", ROWS),
    Question("rows:integer_sum", "integer_sum", ("x=i32[64, 100]",)),
    Question("rows:integer_sum", "integer_sum", ("x=i8[64, 100]",)),
    Question("rows:cross_entropy", "cross_entropy", ("x=f32[64, 100], labels=i64[64]",)),
    Question("rows:add", "add", ("x=f32[1000], y=f32[1000]",)),
    Question("rows:scale", "scale", ("x=f32[1000], factor=2.5",)),
    Question("rows:widen", "widen", ("x=f8e4m3[1000]",)),
    Question("rows:widen", "widen", ("x=f8e5m2[1000]",)),
    Question("rows:roll", "roll", ("x=f32[64, 100], shift=3",)),
    Question("rows:reverse", "reverse", ROWS),
    Question("rows:histogram", "histogram", ("x=i64[100], bins=f32[128]",)),
    Question("rows:scatter_sum", "scatter_sum", ("x=f32[64, 8], at=i64[64], out=f32[64, 8]",)),
    Question("rows:total", "total", FLAT),
    Question("rows:relu", "relu", FLAT),
    Question("rows:double", "double", FLAT),
    *(
        Question("products:matmul", "matmul", (f"x={kind}[64, 96], y={kind}[96, 32]",))
        for kind in _TYPES
    ),
    Question("products:matmul", "matmul", ("x=f32[64, 64], y=f32[64, 64]",)),
    Question("products:matmul_of_fp8", "matmul_of_fp8", ("x=f8e4m3[64, 96], y=f8e4m3[96, 32]",)),
    *(
        Question(
            "products:attention", "attention",
            (f"q={kind}[2, 2, 48, 32], k={kind}[2, 2, 48, 32], v={kind}[2, 2, 48, 32]",),
        )
        for kind in _TYPES
    ),
    Question("liger:softmax", "softmax", ("x=f32[64, 100]",)),
    Question("liger:softmax", "softmax", ("x=bf16[64, 100]",)),
    Question("liger:rms_norm", "rms_norm", (NORM.format("f32"),)),
    Question("liger:layer_norm", "layer_norm", ("x=f32[32, 128], weight=f32[128], bias=f32[128]",)),
    Question("liger:swiglu", "swiglu", ("gate=f32[32, 100], up=f32[32, 100]",)),
    Question("liger:geglu", "geglu", ("gate=f32[32, 100], up=f32[32, 100]",)),
    Question("liger:relu_squared", "relu_squared", ROWS),
    Question("liger:dyt", "dyt", ("x=f32[32, 100], alpha=f32[1], weight=f32[100], bias=f32[100]",)),
    *(
        Question(f"operators:{name}", f"operators.py:{name}", (shapes,))
        for name, shapes in _OPERATORS.items()
    ),
]  # fmt: skip
CASES = cases(QUESTIONS, "right", right=True)
