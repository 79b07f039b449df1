"""device_kernels_test: the kernels of families of //kernels/cuda against the CPU's, on all cases of golden ops and gradients."""

load("//tools/bazel:cc.bzl", "cc_library", "cc_test")
load("//tools/bazel:cuda_rules.bzl", "NEEDS_CUDA")

_DATA = ["//tests/golden/ops:data", "//tests/autodiff:cases"]

# <name>_register: RegisterKernelsUnderTest by the Register functions of these names.
def _register(name, families, register):
    lines = ["#include \"absl/status/status.h\"", "#include \"graph/base/status_macros.h\"", "#include \"kernels/kernel_registry.h\"", "namespace ampc::cuda {"]
    lines += ["absl::Status Register%s(KernelRegistry* registry);" % r for r in register]
    lines += ["}  // namespace ampc::cuda", "namespace ampc::testing {", "absl::Status RegisterKernelsUnderTest(KernelRegistry* registry) {"]
    lines += ["  AMPC_RETURN_IF_ERROR(cuda::Register%s(registry));" % r for r in register]
    lines += ["  return absl::OkStatus();", "}", "}  // namespace ampc::testing"]
    native.genrule(
        name = name + "_register_source",
        outs = [name + "_register.cc"],
        cmd = "printf '%s\\n' " + " ".join(["'%s'" % line for line in lines]) + " > $@",
    )
    cc_library(
        name = name + "_register",
        testonly = True,
        srcs = [name + "_register.cc"],
        deps = [
            "//graph/base:status_macros",
            "//kernels:kernel",
            "@system//absl:status",
        ] + [f + ":family" for f in families],
        alwayslink = True,
    )

def _on_devices(name, deps, families, **kwargs):
    cc_test(
        name = name + "_test",
        deps = deps + [":%s_register" % name, "//tests/cuda:emulated_under_test"] + [f + ":code_emulated" for f in families],
        **kwargs
    )
    cc_test(
        name = name + "_cuda_test",
        tags = ["gpu"],
        target_compatible_with = NEEDS_CUDA,
        deps = deps + [":%s_register" % name, "//tests/cuda:cuda_under_test", "//kernels/cuda:code"],
        **kwargs
    )

def device_kernels_test(name, families, register, cases = [], **kwargs):
    """`name`_test on the emulated device, and `name`_cuda_test with the code of nvcc on cuda:0 (skips without one).

    Args:
      name: of the tests, without _test.
      families: packages of //kernels/cuda with :family, :code and :code_emulated.
      register: the names in AMPC_KERNEL lines whose Register functions make the registry under test.
      cases: more *.case files, in the format of tests/autodiff; for ops without a gradient all float feeds are `fixed`.
      **kwargs: for both cc_test.
    """
    _register(name, families, register)
    _on_devices(
        name,
        ["//tests/cuda:device_kernels_main"],
        families,
        size = "medium",
        args = ["$(locations %s)" % d for d in _DATA] + ["$(location %s)" % c for c in cases],
        data = _DATA + cases,
        **kwargs
    )

def device_op_run_test(name, cases, families, register):
    """A test of //tests/kernels:op_run once more, as `name`_test on the emulated device and `name`_cuda_test on cuda:0.

    Args:
      name: of the tests, without _test.
      cases: the test as a library, see //tests/kernels:cases.bzl.
      families: as for device_kernels_test; their ops run on the CPU and on the device.
      register: as for device_kernels_test.
    """
    _register(name, families, register)
    _on_devices(name, [cases, "//tests/cuda:op_run_main"], families)
