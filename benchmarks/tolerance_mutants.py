"""Mutants of kernels: the kind of each, then texts of its file and what takes their places."""

Mutant = tuple[str, ...]

RMS_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(mean_square + eps)", "rsqrt(mean_square)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("off by one", "axis=0) / n_cols", "axis=0) / (n_cols - 1)"),
    (
        "sum in 16 bits",
        "tl.sum(X_row * X_row, axis=0)",
        "tl.sum((X_row * X_row).to(tl.float16), axis=0).to(tl.float32)",
    ),
    ("dropped term", "(offset + W_row)", "(offset + 1.0)"),
]
LAYER_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(var + eps.to(tl.float32))", "rsqrt(var)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("dropped term", "tl.where(mask, X_centered, 0.0)", "X_centered"),
    (
        "off by one",
        "X_centered_masked, axis=0) / n_cols",
        "X_centered_masked, axis=0) / (n_cols - 1)",
    ),
    ("sum in 16 bits", "X_f32 = X_row.to(tl.float32)", "X_f32 = X_row.to(tl.float16)"),
]
SOFTMAX_MUTANTS: list[Mutant] = [
    ("mask off by one", "mask = offs < n_cols\n", "mask = offs < n_cols - 1\n"),
    ("dropped term", "d = tl.sum(e, axis=0)", "d = tl.sum(e, axis=0) - tl.max(e, axis=0)"),
    (
        "sum in 16 bits",
        "d = tl.sum(e, axis=0)",
        "d = tl.sum(e.to(tl.float16), axis=0).to(tl.float32)",
    ),
    ("wrong fill", 'other=-float("inf")', "other=-10.0"),
]
SWIGLU_MUTANTS: list[Mutant] = [
    ("dropped term", "return x * tl.sigmoid(x)", "return tl.sigmoid(x)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("16 bits", "other=0).to(tl.float32) * gate", "other=0).to(tl.float16).to(tl.float32) * gate"),
    ("wrong constant", "return x * tl.sigmoid(x)", "return x * tl.sigmoid(1.001 * x)"),
]
GEGLU_MUTANTS: list[Mutant] = [
    ("wrong constant", "0.044715 * a_cubed", "0.0447 * a_cubed"),
    ("dropped term", "(a_row + 0.044715 * a_cubed)", "a_row"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("wrong constant", "0.7978845608028654", "0.79788"),
]
KL_MUTANTS: list[Mutant] = [
    ("dropped term", "(tl.log(tl.maximum(y_true, eps)) - y)", "(tl.log(tl.maximum(y_true, eps)))"),
    ("wrong constant", "tl.maximum(y_true, eps)", "tl.maximum(y_true, 1e-3)"),
    ("mask off by one", "mask = offsets < n_cols\n", "mask = offsets < n_cols - 1\n"),
    ("added eps", "tl.maximum(y_true, eps)", "(y_true + 1e-7)"),
]
GROUP_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(variance + eps.to(tl.float32))", "rsqrt(variance)"),
    ("dropped term", "- (m * m)", ""),
    ("off by one", "squared_sum / hidden_size", "squared_sum / (hidden_size - 1)"),
    (
        "mask off by one",
        "mask = hidden_size_offsets < hidden_size\n",
        "mask = hidden_size_offsets < hidden_size - 1\n",
    ),
]
DYT_MUTANTS: list[Mutant] = [
    ("dropped term", "        y += beta\n", "        y += 0\n"),
    ("mask off by one", "mask = col < N\n", "mask = col < N - 1\n"),
    ("16 bits", "tanh(alpha * x)", "tanh((alpha * x).to(tl.float16).to(tl.float32))"),
]
RELU_MUTANTS: list[Mutant] = [
    ("dropped term", "relu_x * relu_x", "relu_x * x_row + 0.0001"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
]
POLY_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(mean_square_2 + eps)", "rsqrt(mean_square_2)"),
    ("eps forgotten", "rsqrt(mean_square_3 + eps)", "rsqrt(mean_square_3)"),
    ("dropped term", " + w2 * norm_x1 + b", " + w2 * norm_x1"),
    ("wrong term", "w1 * norm_x2", "w1 * norm_x1"),
]
MATMUL_MUTANTS: list[Mutant] = [
    (
        "sum in 16 bits",
        "dtype=tl.float32)\n    for start in range(0, inner",
        "dtype=tl.float16)\n    for start in range(0, inner",
        "total += tl.dot(a, b, input_precision=PRECISION)",
        "total = (total + tl.dot(a, b, input_precision=PRECISION)).to(tl.float16)",
    ),
    ("mask off by one", "(k[None, :] < inner)", "(k[None, :] < inner - 1)"),
    ("tf32", "input_precision=PRECISION", 'input_precision="tf32"'),
    ("dropped term", "range(0, inner, BLOCK)", "range(BLOCK, inner, BLOCK)"),
    (
        "16 bits",
        "input_precision=PRECISION)",
        "input_precision=PRECISION).to(tl.float16).to(tl.float32)",
    ),
]
ATTENTION_MUTANTS: list[Mutant] = [
    ("mask off by one", "columns[None, :] < length", "columns[None, :] < length - 1"),
    ("dropped term", "total = total * kept + ", "total = total + "),
    ("wrong fill", 'scores, -float("inf"))', "scores, -10.0)"),
    (
        "sum in 16 bits",
        "[BLOCK, DEPTH], dtype=tl.float32",
        "[BLOCK, DEPTH], dtype=tl.float16",
        "gathered * kept[:, None]",
        "(gathered * kept[:, None]).to(tl.float16)",
        'gathered += tl.dot(powers.to(values.dtype), values, input_precision="ieee")',
        "gathered = (gathered + tl.dot(powers.to(values.dtype), values, "
        'input_precision="ieee")).to(tl.float16)',
    ),
    (
        "16 bits",
        "powers = tl.exp(scores - now[:, None])",
        "powers = tl.exp((scores - now[:, None]).to(tl.float16).to(tl.float32))",
    ),
]
ADD_MUTANTS: list[Mutant] = [("mask off by one", "mask = lanes < n\n", "mask = lanes < n - 1\n")]
TUTORIAL_SOFTMAX_MUTANTS: list[Mutant] = [
    (
        "mask off by one",
        "mask = lanes < columns\n    given",
        "mask = lanes < columns - 1\n    given",
    ),
    ("wrong fill", 'other=-float("inf")).to', "other=-8.0).to"),
    ("16 bits", "tl.sum(powers, axis=0)", "tl.sum(powers, axis=0).to(tl.float16).to(tl.float32)"),
]
TUTORIAL_LAYER_MUTANTS: list[Mutant] = [
    ("eps forgotten", "/ columns + eps)", "/ columns)"),
    ("dropped term", "tl.where(lanes < columns, given - center, 0.0)", "given - center"),
    ("off by one", "tl.sum(squares, axis=0) / columns", "tl.sum(squares, axis=0) / (columns - 1)"),
    (
        "sum in 16 bits",
        "squares = tl.zeros([BLOCK], dtype=tl.float32)",
        "squares = tl.zeros([BLOCK], dtype=tl.float16)",
        "squares += away * away",
        "squares = (squares + away * away).to(tl.float16)",
    ),
]
