"""Names of device functions, read back from what compilers made of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema.symbols import readable, titled


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("added", "added"),
        ("", ""),
        ("_Z5addedPf", "added"),
        ("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_", "at::native::reduce_kernel"),
        ("_ZN7cutlass7Kernel2I66cutlass_80_tensorop", "cutlass::Kernel2"),
        ("_ZN12_GLOBAL__N_14fillEv", "(anonymous)::fill"),
        ("_ZSt4fillIiEvv", "std::fill"),
        ("_ZL6hiddenv", "hidden"),
        # given a name that another tool wrote out
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(at::R<float>)",
            "at::native::reduce_kernel",
        ),
        ("void (anonymous namespace)::fill<int>(int*)", "(anonymous)::fill"),
        ("ncclDevKernel_Sum(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Sum"),
        ("std::enable_if<!(false), void>::type internal::gemvx<int>(int)", "internal::gemvx"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        # given nothing that can be read, then the symbol itself
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_Z99short", "_Z99short"),
        ("_ZSt", "_ZSt"),
        ("nvjet_hsh_64x8_64x16_4x1_v_bz_TNN", "nvjet_hsh_64x8_64x16_4x1_v_bz_TNN"),
    ],
)
def test_readable_returns_the_name_of_a_mangled_symbol(symbol, name):
    assert readable(symbol) == name


@settings(max_examples=100, deadline=None)
@given(st.text("_ZNStLI019abE", max_size=40))
def test_readable_accepts_any_text(rest):
    assert readable("_Z" + rest)
    assert readable(rest + "()")
    assert titled(rest + "<f(int)>()")
    assert titled("_Z" + rest)


@pytest.mark.parametrize(
    ("symbol", "title"),
    [
        ("added", "added"),
        ("_Z5addedPf", "added"),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_13AUnaryFunctorIN3c108BFloat16ES4_"
            "S4_NS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm2EEEEviT0_T1_",
            "vectorized_elementwise_kernel<AUnaryFunctor, MulFunctor>",
        ),
        (
            "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_"
            "23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE2_clEvEUllE_EE",
            "elementwise_kernel<direct_copy_kernel_cuda>",
        ),
        ("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEE",
         "reduce_kernel<MeanOps>"),
        ("void at::native::reduce_kernel<512, at::ReduceOp<float, at::MeanOps<float> > >(int)",
         "reduce_kernel<MeanOps>"),
    ],
)  # fmt: skip
def test_titled_has_the_template_arguments_that_describe_a_generic_kernel(symbol, title):
    assert titled(symbol) == title
