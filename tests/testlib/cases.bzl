"""Tests from *.case files."""

load("//tools/bazel:cc.bzl", "cc_test")

def case_test(name, suite, srcs, size = "small", **kwargs):
    """A test binary that runs every case of every file as a test `SUITE/<file>.<title>`.

    Args:
      name: the target.
      suite: the first part of the tests' names.
      srcs: the case files.
      size: of the test.
      **kwargs: anything else that cc_test takes.
    """
    cc_test(
        name = name,
        size = size,
        args = ["--suite=" + suite] + ["$(location %s)" % src for src in srcs],
        data = srcs,
        deps = ["//tests/testlib:case_main"],
        **kwargs
    )
