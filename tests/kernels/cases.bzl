"""op_test: a test of //tests/kernels:op_run that is compiled once for all the ways it runs."""

load("//tools/bazel:cc.bzl", "cc_library", "cc_test")

def op_cases(name, deps, data = []):
    """`name`_cases: the tests of `name`_test.cc without a main, for tests that run them.

    Args:
      name: of the source, without _test.cc.
      deps: of the source, without GoogleTest.
      data: that they read.
    """
    cc_library(
        name = name + "_cases",
        testonly = True,
        srcs = [name + "_test.cc"],
        data = data,
        visibility = ["//tools/bazel:inside_tests"],
        deps = deps + ["@system//:gtest"],
        alwayslink = True,
    )

def op_test(name, deps, data = []):
    """`name`_cases, and `name`_test which runs them on the CPU. See op_cases."""
    op_cases(name, deps, data)
    cc_test(
        name = name + "_test",
        deps = [
            ":%s_cases" % name,
            "@system//:gtest_main",
        ],
    )
