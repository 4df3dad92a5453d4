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
    Question("operators:scaled", "operators.py:scaled", ("x=f32[16, 200]",)),
    Question("operators:relu", "operators.py:relu", ("x=f32[16, 200]",)),
    Question("operators:leaky_relu", "operators.py:leaky_relu", ("x=f32[16, 200]",)),
    Question("operators:sigmoid", "operators.py:sigmoid", ("x=f32[16, 200]",)),
    Question("operators:tanh", "operators.py:tanh", ("x=f32[16, 200]",)),
    Question("operators:swish", "operators.py:swish", ("x=f32[16, 200]",)),
    Question("operators:gelu", "operators.py:gelu", ("x=f32[16, 200]",)),
    Question("operators:selu", "operators.py:selu", ("x=f32[16, 200]",)),
    Question("operators:hard_sigmoid", "operators.py:hard_sigmoid", ("x=f32[16, 200]",)),
    Question("operators:softplus", "operators.py:softplus", ("x=f32[16, 200]",)),
    Question("operators:softsign", "operators.py:softsign", ("x=f32[16, 200]",)),
    Question("operators:elu", "operators.py:elu", ("x=f32[16, 200]",)),
    Question("operators:hard_tanh", "operators.py:hard_tanh", ("x=f32[16, 200]",)),
    Question("operators:gelu_by_tanh", "operators.py:gelu_by_tanh", ("x=f32[16, 200]",)),
    Question("operators:sum_of", "operators.py:sum_of", ("x=f32[4, 48, 20]",)),
    Question("operators:mean", "operators.py:mean", ("x=f32[4, 48, 20]",)),
    Question("operators:max_of", "operators.py:max_of", ("x=f32[4, 48, 20]",)),
    Question("operators:argmax", "operators.py:argmax", ("x=f32[4, 48, 20]",)),
    Question("operators:argmin", "operators.py:argmin", ("x=f32[4, 48, 20]",)),
    Question("operators:min_of", "operators.py:min_of", ("x=f32[4, 48, 20]",)),
    Question("operators:softmax", "operators.py:softmax", ("x=f32[16, 200]",)),
    Question("operators:log_softmax", "operators.py:log_softmax", ("x=f32[16, 200]",)),
    Question("operators:instance_norm", "operators.py:instance_norm", ("x=f32[2, 3, 8, 10]",)),
    Question("operators:rms_norm", "operators.py:rms_norm", ("x=f32[16, 200]",)),
    Question("operators:l1_norm", "operators.py:l1_norm", ("x=f32[16, 200]",)),
    Question("operators:l2_norm", "operators.py:l2_norm", ("x=f32[16, 200]",)),
    Question("operators:layer_norm", "operators.py:layer_norm", ("x=f32[16, 200], y=f32[200], z=f32[200]",)),
    Question("operators:max_pool1d", "operators.py:max_pool1d", ("x=f32[4, 8, 40]",)),
    Question("operators:max_pool2d", "operators.py:max_pool2d", ("x=f32[2, 3, 16, 18]",)),
    Question("operators:avg_pool1d", "operators.py:avg_pool1d", ("x=f32[4, 8, 40]",)),
    Question("operators:avg_pool2d", "operators.py:avg_pool2d", ("x=f32[2, 3, 18, 18]",)),
    Question("operators:square_product", "operators.py:square_product", ("x=f32[32, 32], y=f32[32, 32]",)),
    Question("operators:product", "operators.py:product", ("x=f32[32, 48], y=f32[48, 32]",)),
    Question("operators:product_of_symmetric", "operators.py:product_of_symmetric", ("x=f32[32, 32], y=f32[32, 32]",)),
    Question("operators:batched_product", "operators.py:batched_product", ("x=f32[3, 32, 48], y=f32[3, 48, 16]",)),
    Question("operators:matrix_times_vector", "operators.py:matrix_times_vector", ("x=f32[64, 300], y=f32[300, 1]",)),
    Question("operators:product_large_K", "operators.py:product_large_K", ("x=f32[16, 700], y=f32[700, 16]",)),
    Question("operators:product_small_K", "operators.py:product_small_K", ("x=f32[32, 8], y=f32[8, 32]",)),
    Question("operators:product_irregular", "operators.py:product_irregular", ("x=f32[33, 37], y=f32[37, 29]",)),
    Question("operators:product_tall", "operators.py:product_tall", ("x=f32[64, 16], y=f32[16, 24]",)),
    Question("operators:of_3D_product", "operators.py:of_3D_product", ("x=f32[3, 16, 48], y=f32[48, 16]",)),
    Question("operators:of_4D_product", "operators.py:of_4D_product", ("x=f32[2, 3, 8, 48], y=f32[48, 16]",)),
    Question("operators:product_of_a_transposed", "operators.py:product_of_a_transposed", ("x=f32[48, 32], y=f32[48, 24]",)),
    Question("operators:product_with_a_transposed", "operators.py:product_with_a_transposed", ("x=f32[32, 48], y=f32[24, 48]",)),
    Question("operators:product_of_two_transposed", "operators.py:product_of_two_transposed", ("x=f32[48, 32], y=f32[24, 48]",)),
    Question("operators:upper_triangular_product", "operators.py:upper_triangular_product", ("x=f32[24, 32], y=f32[32, 24]",)),
    Question("operators:lower_triangular_product", "operators.py:lower_triangular_product", ("x=f32[24, 32], y=f32[32, 24]",)),
    Question("operators:diagonal_times_matrix", "operators.py:diagonal_times_matrix", ("x=f32[16], y=f32[16, 200]",)),
    Question("operators:cumsum", "operators.py:cumsum", ("x=f32[16, 200]",)),
    Question("operators:cumsum_reverse", "operators.py:cumsum_reverse", ("x=f32[16, 200]",)),
    Question("operators:MSE_loss", "operators.py:MSE_loss", ("x=f32[16, 60], y=f32[16, 60]",)),
    Question("operators:Huber_loss", "operators.py:Huber_loss", ("x=f32[16, 60], y=f32[16, 60]",)),
    Question("operators:KL_divergence", "operators.py:KL_divergence", ("x=f32[16, 60], y=f32[16, 60]",)),
    Question("operators:hinge_loss", "operators.py:hinge_loss", ("x=f32[16, 60], y=f32[16, 60]",)),
]  # fmt: skip
CASES = cases(QUESTIONS, "right", right=True)
