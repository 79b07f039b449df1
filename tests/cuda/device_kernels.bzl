"""device_kernels_test: the kernels of families of //kernels/cuda against the CPU's, on all cases of golden ops and gradients."""

load("//tools/bazel:cc.bzl", "cc_test")
load("//tools/bazel:cuda_rules.bzl", "NEEDS_CUDA")

_DATA = ["//tests/golden/ops:data", "//tests/autodiff:cases"]

# <name>_register.cc: RegisterKernelsUnderTest by the Register functions of these names.
def _register(name, register):
    lines = ["#include \"absl/status/status.h\"", "#include \"graph/base/status_macros.h\"", "#include \"kernels/kernel.h\"", "namespace ampc::cuda {"]
    lines += ["absl::Status Register%s(KernelRegistry* registry);" % r for r in register]
    lines += ["}  // namespace ampc::cuda", "namespace ampc::testing {", "absl::Status RegisterKernelsUnderTest(KernelRegistry* registry) {"]
    lines += ["  AMPC_RETURN_IF_ERROR(cuda::Register%s(registry));" % r for r in register]
    lines += ["  return absl::OkStatus();", "}", "}  // namespace ampc::testing"]
    native.genrule(
        name = name + "_register",
        outs = [name + "_register.cc"],
        cmd = "printf '%s\\n' " + " ".join(["'%s'" % line for line in lines]) + " > $@",
    )

def device_kernels_test(name, families, register, cases = [], emulated_code = None, **kwargs):
    """`name`_test on the emulated device, and `name`_cuda_test with the code of nvcc on cuda:0 (skips without one).

    Args:
      name: of the tests, without _test.
      families: packages of //kernels/cuda with :family, :code and :code_emulated.
      register: the names in AMPC_KERNEL lines whose Register functions make the registry under test.
      cases: more *.case files, in the format of tests/autodiff; for ops without a gradient all float feeds are `fixed`.
      **kwargs: for both cc_test.
    """
    _register(name, register)
    data = _DATA + cases
    args = ["$(locations %s)" % d for d in _DATA] + ["$(location %s)" % c for c in cases]
    common = [
        "//graph/base:status_macros",
        "//kernels:kernel",
        "//tests/cuda:device_kernels_main",
        "@system//absl:status",
    ] + [f + ":family" for f in families]
    cc_test(
        name = name + "_test",
        size = "medium",
        srcs = [name + "_register.cc"],
        args = args,
        data = data,
        deps = common + ["//tests/cuda:emulated_under_test"] + [f + ":code_emulated" for f in families],
        **kwargs
    )
    cc_test(
        name = name + "_cuda_test",
        size = "medium",
        srcs = [name + "_register.cc"],
        args = args,
        data = data,
        tags = ["gpu"],
        target_compatible_with = NEEDS_CUDA,
        deps = common + ["//tests/cuda:cuda_under_test"] + ["//kernels/cuda:code"],
        **kwargs
    )

def device_op_run_test(name, srcs, families, register, deps, **kwargs):
    """A test of //tests/kernels:op_run once more, as `name`_test on the emulated device and `name`_cuda_test on cuda:0.

    Args:
      name: of the tests, without _test.
      srcs: of the test, without a main.
      families: as for device_kernels_test; their ops run on the CPU and on the device.
      register: as for device_kernels_test.
      deps: of the test, without a main.
      **kwargs: for both cc_test.
    """
    _register(name, register)
    srcs = srcs + [name + "_register.cc"]
    common = deps + [
        "//graph/base:status_macros",
        "//kernels:kernel",
        "//tests/cuda:op_run_main",
        "@system//:gtest",
        "@system//absl:status",
    ] + [f + ":family" for f in families]
    cc_test(
        name = name + "_test",
        srcs = srcs,
        deps = depset(common + ["//tests/cuda:emulated_under_test"] + [f + ":code_emulated" for f in families]).to_list(),
        **kwargs
    )
    cc_test(
        name = name + "_cuda_test",
        srcs = srcs,
        tags = ["gpu"],
        target_compatible_with = NEEDS_CUDA,
        deps = depset(common + ["//tests/cuda:cuda_under_test"] + ["//kernels/cuda:code"]).to_list(),
        **kwargs
    )
