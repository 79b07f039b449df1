"""pass_library and folder_of_passes: a new pass is one rule in the BUILD file of its folder, beside its line in passes/all_passes.inc."""

load("//tools/bazel:cc.bzl", "cc_library")

# Every pass uses these.
_DEPS = ["//graph:ir", "//passes:make_pass", "//passes:pass"]

def pass_library(name, srcs = None, hdrs = None, deps = [], visibility = None):
    """The library of a pass, or of a few that belong together.

    Args:
      name: of the target.
      srcs: by default <name>.cc.
      hdrs: by default <name>.h.
      deps: beside those that every pass has.
      visibility: by default other passes and tests.
    """
    cc_library(
        name = name,
        srcs = srcs or [name + ".cc"],
        hdrs = hdrs or [name + ".h"],
        tags = ["pass"],
        visibility = visibility or ["//tools/bazel:inside_passes"],
        deps = _DEPS + deps,
    )

def folder_of_passes():
    """All passes of the BUILD file, in which this stands last, as one target: `passes`."""
    cc_library(
        name = "passes",
        visibility = ["//tools/bazel:inside_passes"],
        deps = [":" + rule["name"] for rule in native.existing_rules().values() if "pass" in rule["tags"]],
    )
