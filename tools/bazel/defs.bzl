"""Constants and macros for the BUILD files of this project."""

# For a target whose sources use OpenMP pragmas or <omp.h>; it also depends on @system//:openmp.
OPENMP_COPTS = ["-fopenmp"]

def cc_proto(name, src, visibility = None):
    """A C++ library from one .proto file: `#include "<package>/<file>.pb.h"`.

    Args:
      name: the library's name.
      src: the .proto file, in this package. It imports nothing.
      visibility: who may include the generated header.
    """
    stem = src[:-len(".proto")]
    repository = native.repository_name()[1:]  # "" in this project's own build
    root = "external/" + repository if repository else "."
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = [stem + ".pb.h", stem + ".pb.cc"],
        cmd = "protoc --proto_path={root} --cpp_out=$(GENDIR)/{root} $(SRCS)".format(root = root),
    )
    native.cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        visibility = visibility,
        deps = ["@system//:protobuf"],
    )
