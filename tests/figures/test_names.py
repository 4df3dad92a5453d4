"""Names of device functions: demangled, and short ones that tell kernels apart."""

import re
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.identity import kind_of
from kvtrace.figures.names import full_name, readable, shown_names, titled
from tests.support.kernel_names import RECORDED
from tests.support.thorough import usually


def test_short_names_of_public_traces_are_those_in_the_table():
    assert len(RECORDED) >= 120
    assert [(name, titled(name)) for _, _, name, _ in RECORDED] == [
        (name, short) for _, _, name, short in RECORDED
    ]


def test_libraries_of_public_traces_are_those_in_the_table():
    assert [(name, kind_of(name)) for _, _, name, _ in RECORDED] == [
        (name, maker) for _, maker, name, _ in RECORDED
    ]


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_kernel_cudnn", "cuDNN"),
        ("cutlass_tensorop_f16_s16816fprop_optimized_f16_128x128_32x4_kernel_cudnn", "cuDNN"),
        ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int)", "cuDNN"),
        ("void fft2d_c2r_16x16<float, false>(float*, float2*, int)", "cuDNN"),
        ("void regular_fft<64u, EPT<8>, 4u>(kernel_parameters_t<fft_mem_radix1_t>)", "cuFFT"),
        ("triton_per_fused_native_layer_norm_3", "Inductor"),
        ("triton_red_fused_mean_0", "Inductor"),
        ("triton_poi_fused_gemm_silu_2", "Inductor"),
        ("triton_attention_forward", "other"),
        ("fused_fft2d", "other"),
        ("per_token_quant", "other"),
    ],
)
def test_makers_follow_from_names(name, maker):
    assert kind_of(name) == maker


def test_short_names_are_unique_but_where_tools_spell_one_kernel_differently():
    names_by_title = {}
    for tool, _, _, short in RECORDED:
        names_by_title.setdefault(short, []).append(tool)
    assert [tools for tools in names_by_title.values() if len(tools) > 1] == [["llvm", "nsys"]]


SPELLINGS = [
    # The copy of a float tensor to bfloat16, as GNU's, LLVM's and NVIDIA's demanglers write it.
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_23direct_copy_kernel_cudaERNS_"
    "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108BFloat16EE_St5arrayIPcLm2EEEEviT0_T1_",
    "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const"
    "::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, char)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::'lambda1'()::operator()() const::'lambda10'()::operator()() const"
    "::'lambda'(c10::BFloat16), std::array<char*, 2ul>>(int, char)",
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance "
    "12)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, "
    "(unsigned long)2>>(int, T2, T3)",
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_kernel_has_one_short_name_whoever_demangled_it(name):
    assert (
        titled(name) == "vectorized_elementwise_kernel<4, direct_copy_kernel_cuda(BFloat16)#3.12>"
    )
    assert readable(name) == "at::native::vectorized_elementwise_kernel"


def test_variants_of_a_formula_have_different_short_names():
    gelu = SPELLINGS[1].replace("direct_copy_kernel_cuda", "GeluCUDAKernelImpl")
    tanh, erf = gelu.replace("()#3}", "()#1}"), gelu.replace("()#3}", "()#2}")
    assert titled(tanh) != titled(erf)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("added", "added"),
        ("", ""),
        ("_Z5addedPf", "added"),
        ("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_", "at::native::reduce_kernel"),
        ("_ZN12_GLOBAL__N_14fillEv", "(anonymous)::fill"),
        ("_ZSt4fillIiEvv", "std::fill"),
        ("_ZL6hiddenv", "hidden"),
        ("_Z5addedPf.kd", "added"),
        # given a name that another tool wrote out
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(at::R<float>)",
            "at::native::reduce_kernel",
        ),
        ("void (anonymous namespace)::fill<int>(int*)", "(anonymous)::fill"),
        ("void <unnamed>::fill<int>(int *)", "(anonymous)::fill"),
        ("ncclDevKernel_Sum(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Sum"),
        ("std::enable_if<!(false), void>::type internal::gemvx<int>(int)", "internal::gemvx"),
        ("std::enable_if<((8) > (0)), void>::type vllm::norm<8>(int)", "vllm::norm"),
        ("unsigned int ns::count<int>(int) [clone .constprop.0]", "ns::count"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        # given nothing that can be read, then the symbol itself
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_Z99short", "_Z99short"),
        ("_ZSt", "_ZSt"),
        ("_ZN7cutlass7Kernel2I66cutlass_80_tensorop", "_ZN7cutlass7Kernel2I66cutlass_80_tensorop"),
        ("nvjet_hsh_64x8_64x16_4x1_v_bz_TNN", "nvjet_hsh_64x8_64x16_4x1_v_bz_TNN"),
    ],
)
def test_readable_returns_the_qualified_name_without_types(symbol, name):
    assert readable(symbol) == name


def test_full_name_has_types_and_parameters():
    assert full_name("_ZN2at4fillIfEEvPT_RKi.kd") == "void at::fill<float>(float*, int const&)"
    assert full_name("_Z5addedPfRKi [clone .kd]") == "added(float*, int const&)"
    assert full_name("Cijk_Ailk.kd") == "Cijk_Ailk"


@pytest.mark.process
@pytest.mark.skipif(shutil.which("c++filt") is None, reason="needs c++filt of binutils")
def test_names_are_demangled_as_binutils_does():
    symbols = [name for _, _, name, _ in RECORDED if name.startswith("_Z")]
    # Releases of binutils differ in the names of C++23's types.
    symbols = [name.removesuffix(".kd") for name in symbols if not re.search("DF16|DB8", name)]
    filtered = subprocess.run(
        ["c++filt", "-r"], input="\n".join(symbols), capture_output=True, text=True, check=True
    )
    assert [full_name(symbol) for symbol in symbols] == filtered.stdout.split("\n")


def test_without_the_demangler_a_recorded_program_has_the_symbol(monkeypatch):
    monkeypatch.setitem(sys.modules, "demangle", None)
    assert (
        full_name("_Z12not_demangledPf") == titled("_Z12not_demangledPf") == "_Z12not_demangledPf"
    )


def test_overloads_and_equal_names_of_two_namespaces_are_shown_differently():
    names = ["check(float const*)", "check(double const*)", "void a::f<int>(int)", "other"]
    names += ["void b::f<int>(int)", "_Z5otherv"]
    shown = shown_names(names)
    assert len(set(shown.values())) == len(names)
    assert shown["other"].startswith("other ~")
    assert shown_names(names[:1]) == {names[0]: "check"}


def test_two_spellings_of_a_symbol_are_shown_as_one_kernel():
    shown = shown_names(["_Z5addedPf", "added(float*)", "_Z5addedPf.kd"])
    assert set(shown.values()) == {"added"}


IDENTIFIERS = st.sampled_from(["f", "g", "Kernel", "tuple", "C", "float", "array", "sum_functor"])
ARGUMENTS = st.recursive(
    IDENTIFIERS | st.integers(-3, 300).map(str),
    lambda inner: st.builds(
        lambda name, arguments: f"{name}<{', '.join(arguments)}>",
        IDENTIFIERS,
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)
FUNCTIONS = st.builds(
    lambda space, name, arguments, parameter: (
        f"void {space}::{name}<{', '.join(arguments)}>({parameter})"
    ),
    IDENTIFIERS, IDENTIFIERS, st.lists(ARGUMENTS, min_size=1, max_size=6), ARGUMENTS,
)  # fmt: skip


@pytest.mark.costly("random names; chosen ones stay by day")
@given(st.lists(FUNCTIONS | st.sampled_from([name for _, _, name, _ in RECORDED]), unique=True))
def test_functions_of_a_trace_never_share_a_shown_name(names):
    shown = shown_names(names)
    assert len(set(shown.values())) == len({full_name(name) for name in names})


@given(FUNCTIONS)
def test_a_short_name_is_short_and_of_the_name_alone(name):
    assert len(titled(name)) <= 96 + len(" ~123456")
    assert titled(name) == titled(f"{name} [clone .kd]")


@settings(max_examples=usually(25, thorough=100), deadline=None)
@given(st.text("_ZNStLI019abE<>(){}[]:,'*& #", max_size=60))
def test_any_text_has_names(text):
    for name in (text, f"_Z{text}", f"{text}<f(int)>()", f"void {text}(int)"):
        assert readable(name) or not name
        assert titled(name) or not name.removesuffix(".kd").strip()


def test_a_hostile_symbol_is_shown_as_it_is_without_using_time_or_memory():
    begin = time.process_time()
    doubling = "_Z1f1aIiiE" + "".join(f"S_IS{index}_S{index}_E" for index in range(60))
    for name in (
        "a(" * 30_000,
        "a(" * 30_000 + ")",
        "f<'lambda" + "9" * 5_000 + "'()>(int)",
        "f<{lambda()#" + "9" * 5_000 + "}>(int)",
        doubling,
        "_Z1f" + "P" * 50_000 + "i",
        "f" + "<f" * 20_000 + ">" * 20_000 + "(int)",
    ):
        assert titled(name)
    assert len(titled("void f<" + "g, " * 40_000 + "int>(int)")) < 200
    assert time.process_time() - begin < 10
