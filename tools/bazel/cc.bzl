"""cc_library, cc_binary and cc_test with headers of the machine parsed beforehand.

Much of the time that a source of this tree takes to compile is parsing headers of the standard library, Abseil and GoogleTest, which never change. They are
compiled once per set of options (precompiled_header) and included first in every source: 17 sources of passes take 14 s of user time, without 23 s
(tools/bazel/compile_time.sh; GCC 12, 2 cores). A source names what it uses nevertheless:
`--define=precompiled=off` compiles without them, as .ci/full does, and so do SIMD loops and targets with options of their own: a
compiler takes a precompiled header only with the options that it was made with.
"""

# By the start of the package's name, "" for all others: one for each set of options that .bazelrc knows.
_HEADERS = [
    ("kernels/cpu/simd/", None),
    ("kernels/", "//kernels/common:precompiled"),
    ("tests/", "//tests/testlib:precompiled"),
    ("", "//graph/base:precompiled"),
]

def precompiled_header(name, srcs, **kwargs):
    """The headers that `srcs` include, as parsed by the compiler with the options of this package's folder.

    Both GCC and Clang look for it beside the name that they are told, with .gch appended.

    Args:
      name: of the target, and of the header: <name>.h.gch.
      srcs: files of include directives.
      **kwargs: of the target, visibility for example.
    """
    native.genrule(name = name + "_source", srcs = srcs, outs = [name + ".cc"], cmd = "cat $(SRCS) > $@", tags = ["manual"], **kwargs)
    native.cc_library(
        name = name + "_compiled",
        srcs = [name + ".cc"],
        copts = ["-xc++-header"],
        features = ["-layering_check"],
        tags = ["manual"],
        **kwargs
    )
    native.filegroup(name = name + "_output", srcs = [name + "_compiled"], output_group = "compilation_outputs", tags = ["manual"], **kwargs)
    native.genrule(name = name + "_header", srcs = [name + "_output"], outs = [name + ".h.gch"], cmd = "cp $< $@", tags = ["manual"], **kwargs)
    native.cc_library(name = name, textual_hdrs = [name + ".h.gch", name + ".cc"], tags = ["manual"], **kwargs)

def _header_of(package):
    for start, target in _HEADERS:
        if (package + "/").startswith(start):
            return target

def _with_header(rule, kwargs):
    header = _header_of(native.package_name())
    compiled = [src for src in kwargs.get("srcs", []) if not src.endswith(".h")]
    own_options = "copts" in kwargs or "features" in kwargs or [src for src in compiled if src.endswith(".c")]
    if header and compiled and not own_options and native.repository_name() == "@":
        off = "//tools/bazel:precompiled_off"
        path = "$(GENDIR)/" + header[2:].replace(":", "/") + ".h"
        kwargs["copts"] = select({off: [], "//conditions:default": ["-include", path]})
        kwargs["deps"] = kwargs.get("deps", []) + select({off: [], "//conditions:default": [header]})
    rule(**kwargs)

def cc_library(**kwargs):
    _with_header(native.cc_library, kwargs)

def cc_binary(**kwargs):
    _with_header(native.cc_binary, kwargs)

def cc_test(**kwargs):
    _with_header(native.cc_test, kwargs)
