"""Mutants of kernels: the kind of mistake, and pairs of a text in the file and its replacement."""

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

# -- FLA ------------------------------------------------------------------------------------------

LOGSIGMOID_MUTANTS: list[Mutant] = [
    ("dropped term", "(b_m - log(b_z)) / temperature", "(-log(b_z)) / temperature"),
    ("wrong constant", "b_z = 1. + exp(", "b_z = 1.0001 + exp("),
    ("16 bits", "log(b_z)) / temp", "log(b_z.to(tl.float16).to(tl.float32))) / temp"),
]
SWISH_MUTANTS: list[Mutant] = [
    ("wrong constant", "b_y = b_x * tl.sigmoid(b_x)", "b_y = b_x * tl.sigmoid(1.0005 * b_x)"),
    ("dropped term", "b_y = b_x * tl.sigmoid(b_x)", "b_y = tl.sigmoid(b_x)"),
]
FLA_SWIGLU_MUTANTS: list[Mutant] = [
    ("16 bits", "tl.sigmoid(b_x) * b_y", "tl.sigmoid(b_x).to(tl.float16).to(tl.float32) * b_y"),
    ("dropped term", "b_x * tl.sigmoid(b_x) * b_y", "tl.sigmoid(b_x) * b_y"),
    ("wrong constant", "tl.sigmoid(b_x) * b_y", "tl.sigmoid(b_x) * (b_y + 0.0005)"),
]
POWGLU_MUTANTS: list[Mutant] = [
    ("added eps", "b_p = m / (b_sqrt + 1.0)", "b_p = m / (b_sqrt + 1.0 + 1e-4)"),
    ("dropped term", "b_pow * b_s, b_x * b_s)", "b_pow * b_s, b_s)"),
    ("16 bits", "exp(b_p * log(b_xp))", "exp((b_p * log(b_xp)).to(tl.float16).to(tl.float32))"),
]
ELU_MUTANTS: list[Mutant] = [
    ("wrong constant", "b_x + 1., libdevice", "b_x + 1.001, libdevice"),
    ("dropped term", "libdevice.exp(tl.minimum(b_x, 0.))", "tl.minimum(b_x, 0.) + 1."),
]
FLA_LAYER_MUTANTS: list[Mutant] = [
    ("eps forgotten", "1 / tl.sqrt(b_var + eps)", "1 / tl.sqrt(b_var)"),
    (
        "off by one",
        "b_var = tl.sum(b_xbar * b_xbar, axis=1) / D",
        "b_var = tl.sum(b_xbar * b_xbar, axis=1) / (D - 1)",
    ),
    ("dropped term", "tl.where(m_d[None, :], b_x - b_mean[:, None], 0.0)", "b_x - b_mean[:, None]"),
    (
        "sum in 16 bits",
        "b_mean = tl.sum(b_x, axis=1) / D",
        "b_mean = tl.sum(b_x.to(tl.float16), axis=1).to(tl.float32) / D",
    ),
]
FLA_RMS_MUTANTS: list[Mutant] = [
    (
        "off by one",
        "b_xbar = tl.where(m_d[None, :], b_x, 0.0)\n"
        "        b_var = tl.sum(b_xbar * b_xbar, axis=1) / D",
        "b_xbar = b_x\n        b_var = tl.sum(b_xbar * b_xbar, axis=1) / (D - 1)",
    ),
    ("mask off by one", "m_d = o_d < D\n", "m_d = o_d < D - 1\n"),
    ("added eps", "1 / tl.sqrt(b_var + eps)", "1 / tl.sqrt(b_var + 1e-5)"),
]
L2_MUTANTS: list[Mutant] = [
    ("eps forgotten", "tl.sum(b_x * b_x, 1) + eps", "tl.sum(b_x * b_x, 1)"),
    (
        "sum in 16 bits",
        "tl.sum(b_x * b_x, 1) + eps",
        "tl.sum((b_x * b_x).to(tl.float16), 1).to(tl.float32) + eps",
    ),
    (
        "mask off by one",
        "m_x = m_t[:, None] & (o_d[None, :] < D)",
        "m_x = m_t[:, None] & (o_d[None, :] < D - 1)",
    ),
]
FLA_GATED_MUTANTS: list[Mutant] = [
    ("eps forgotten", "1 / tl.sqrt(b_var + eps)", "1 / tl.sqrt(b_var)"),
    ("dropped term", "b_y = b_y * b_g * tl.sigmoid(b_g)", "b_y = b_y * tl.sigmoid(b_g)"),
    (
        "16 bits",
        "b_y = b_y * b_g * tl.sigmoid(b_g)",
        "b_y = b_y * b_g * tl.sigmoid(b_g).to(tl.float16).to(tl.float32)",
    ),
]
ROTARY_MUTANTS: list[Mutant] = [
    ("wrong term", "b_o1 = b_x0 * b_sin + b_x1 * b_cos", "b_o1 = b_x0 * b_cos + b_x1 * b_sin"),
    ("wrong constant", "b_x0 * b_cos - b_x1", "b_x0 * b_cos - 1.000005 * b_x1"),
]
CUMSUM_MUTANTS: list[Mutant] = [
    (
        "sum in 16 bits",
        "b_o = tl.cumsum(b_s, axis=0)\n",
        "b_o = tl.cumsum(b_s.to(tl.float16), axis=0).to(tl.float32)\n",
    ),
    ("off by one", "b_o = tl.cumsum(b_s, axis=0)\n", "b_o = tl.cumsum(b_s, axis=0) - b_s\n"),
]
POOLING_MUTANTS: list[Mutant] = [
    ("off by one", "/ min(BT, T - i_t * BT)", "/ BT"),
    (
        "sum in 16 bits",
        "b_o = tl.sum(b_x, axis=0) /",
        "b_o = tl.sum(b_x.to(tl.float16), axis=0).to(tl.float32) /",
    ),
]
HGRN_MUTANTS: list[Mutant] = [
    ("16 bits", "b_h = exp(b_g) * b_h", "b_h = exp(b_g).to(tl.float16).to(tl.float32) * b_h"),
    ("dropped term", "b_h = exp(b_g) * b_h + b_x", "b_h = exp(b_g) * b_h + (1 - exp(b_g)) * b_x"),
    ("wrong constant", "b_h = exp(b_g) * b_h", "b_h = exp(b_g - 1e-4) * b_h"),
]
FLA_ATTENTION_MUTANTS: list[Mutant] = [
    ("mask off by one", "(o_q[:, None] >= o_k", "(o_q[:, None] + 1 >= o_k"),
    ("added eps", "b_o = b_o / b_acc[:, None]", "b_o = b_o / (b_acc + 1e-2)[:, None]"),
    (
        "16 bits",
        "tl.where(m_s, b_s, float('-inf'))",
        "tl.where(m_s, b_s.to(tl.bfloat16).to(tl.float32), float('-inf'))",
    ),
]

# -- vLLM -----------------------------------------------------------------------------------------

BATCH_RMS_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rms = tl.sqrt(mean_sq + eps)", "rms = tl.sqrt(mean_sq)"),
    ("off by one", "mean_sq = sum_sq / n_cols", "mean_sq = sum_sq / (n_cols - 1)"),
    (
        "sum in 16 bits",
        "sum_sq += tl.sum(tl.where(mask, sq_vals, 0.0))",
        "sum_sq += tl.sum(tl.where(mask, sq_vals, 0.0).to(tl.float16)).to(tl.float32)",
    ),
    ("dropped term", "output_f32 * weight.to(tl.float32)", "output_f32"),
]
BATCH_SOFTMAX_MUTANTS: list[Mutant] = [
    ("dropped term", "tl.sum(tl.where(mask, exp_vals, 0.0))", "tl.sum(exp_vals)"),
    (
        "sum in 16 bits",
        "tl.sum(tl.where(mask, exp_vals, 0.0))",
        "tl.sum(tl.where(mask, exp_vals, 0.0).to(tl.float16)).to(tl.float32)",
    ),
    ("mask off by one", "exp_vals = tl", "mask = col_idx < n_cols - 1\n        exp_vals = tl"),
]
BATCH_MATMUL_MUTANTS: list[Mutant] = [
    (
        "sum in 16 bits",
        "accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)",
        "accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float16)",
        "accumulator = tl.dot(a, b, accumulator)",
        "accumulator = (accumulator + tl.dot(a, b)).to(tl.float16)",
    ),
    ("dropped term", "for ki in range(k_tiles):", "for ki in range(1, k_tiles):"),
]
MROPE_MUTANTS: list[Mutant] = [
    ("wrong term", "q_tile_2 * cos_row + q_tile_1 * sin_row", "q_tile_2 * cos_row"),
    (
        "mask off by one",
        "t_mask = cos_offsets < mrope_section_t\n",
        "t_mask = cos_offsets < mrope_section_t - 1\n",
    ),
]
STATE_MUTANTS: list[Mutant] = [
    ("dropped term", "out += x * D", "out += 0.0 * D"),
    ("wrong constant", "fast_exp(A * dt[:, None])", "fast_exp(A * dt[:, None] + 1e-4)"),
    ("16 bits", "tl.sum(state * C", "tl.sum(state.to(tl.float16).to(tl.float32) * C"),
    ("wrong constant", "tl.math.log(tl.math.exp(dt) + 1)", "tl.math.log(tl.math.exp(dt) + 1.0001)"),
]
CONV_MUTANTS: list[Mutant] = [
    (
        "wrong constant",
        "mask_x_1d = idx_feats < dim\n\n    # STEP 5: compute each token",
        "acc_preload += 0.0005\n    mask_x_1d = idx_feats < dim\n",
    ),
    (
        "dropped term",
        "w_col3 = tl.load(w_ptrs, mask_w, other=0.0)\n    if KERNEL_WIDTH >= 5",
        "w_col3 = w_col2\n    if KERNEL_WIDTH >= 5",
    ),
]
MERGE_MUTANTS: list[Mutant] = [
    ("16 bits", "s_scale = s_se / out_se", "s_scale = (s_se / out_se).to(tl.float16)"),
    ("added eps", "out_se = p_se + s_se", "out_se = p_se + s_se + 1e-4"),
    ("wrong term", "p_out * p_scale + s_out * s_scale", "p_out * s_scale + s_out * p_scale"),
]
SCALED_MUTANTS: list[Mutant] = [
    ("dropped term", "accumulator += bias", "accumulator += 0.0"),
    ("mask off by one", "masks_k = offsets_k < K\n", "masks_k = offsets_k < K - 1\n"),
]
PREFILL_MUTANTS: list[Mutant] = [
    ("wrong fill", "qk * sm_scale, -1.0e8)", "qk * sm_scale, -9.0)"),
    ("16 bits", "qk = tl.dot(q, k)\n", "qk = tl.dot(q, k).to(tl.float16).to(tl.float32)\n"),
    ("added eps", "acc = acc / l_i[:, None]", "acc = acc / (l_i + 1e-3)[:, None]"),
]
