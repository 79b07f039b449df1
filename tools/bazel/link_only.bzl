"""link_only and sealed_library: libraries that are linked, and whose lists and private headers nobody sees.

Bazel gives a compile action every header below its dependencies, and a cache finds the action by all of them: with a line more in the list of a registry,
whatever lies above it would be compiled again. Of the 508 compile actions of //tools:ampc, so many are given the list (tools/bazel/header_reach.py, with what it
was without these rules): 1 graph/ops/all_ops.inc (113), 3 graph/ops/onnx/families.inc (171), 1 kernels/cpu/all_kernels.inc (49), 1 passes/all_passes.inc (58),
2 graph/formats/all_formats.inc (42), 78 kernels/common/activation_functors.inc (182).
"""

load("//tools/bazel:cc.bzl", "cc_library")

def _link_only_impl(ctx):
    return [ctx.attr.dep[DefaultInfo], CcInfo(linking_context = ctx.attr.dep[CcInfo].linking_context)]

link_only = rule(
    implementation = _link_only_impl,
    attrs = {"dep": attr.label(mandatory = True, providers = [CcInfo])},
)

def sealed_library(name, hdrs, interface_deps, deps, visibility = None, **kwargs):
    """A library of which others see `hdrs` and what lies below `interface_deps`.

    Args:
      name: of the target.
      hdrs: public headers.
      interface_deps: the targets that `hdrs` include.
      deps: the targets that the sources use besides.
      visibility: of the target.
      **kwargs: of the cc_library with the sources.
    """
    private = ["//visibility:private"]
    cc_library(name = name + "_sealed", hdrs = hdrs, deps = interface_deps + deps, visibility = private, **kwargs)
    link_only(name = name + "_linked", dep = name + "_sealed", visibility = private)
    cc_library(name = name, hdrs = hdrs, deps = interface_deps + [name + "_linked"], visibility = visibility)
