"""@system: the libraries of the machine as cc_library targets. The one place that knows where they are and how they link.

@system//:<name> for single libraries, @system//absl:<component> for Abseil (one target per component, e.g. @system//absl:status).
Debian's headers lie in /usr/include, which every compiler searches, so targets carry link options only. Static archives are taken where
Debian has them: a program then starts without the dynamic linker resolving dozens of small libraries.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

# zlib is used by protobuf's gzip streams.
cc_library(name = "protobuf", linkopts = ["-l:libprotobuf.a"], deps = [":pthread", ":zlib"])
cc_library(name = "gtest", linkopts = ["-lgmock", "-lgtest"], deps = [":pthread"])
cc_library(name = "gtest_main", linkopts = ["-lgtest_main"], deps = [":gtest"])
cc_library(name = "benchmark", linkopts = ["-lbenchmark"], deps = [":pthread"])
cc_library(name = "stb", linkopts = ["-l:libstb.a"])  # pictures: /usr/include/stb
cc_library(name = "zlib", linkopts = ["-lz"])
cc_library(name = "cli11")  # headers only: /usr/include/CLI
cc_library(name = "pthread", linkopts = ["-lpthread"])
cc_library(name = "python", hdrs = glob(["python/**/*.h"]), includes = ["python"])  # headers only: an interpreter has the functions

# Highway; :hwy_contrib adds the sources behind <hwy/contrib/...> (the maths and dot headers need only :hwy).
cc_library(name = "hwy", linkopts = ["-lhwy"])
cc_library(name = "hwy_contrib", linkopts = ["-lhwy_contrib"], deps = [":hwy"])

# A target that uses OpenMP also sets copts = OPENMP_COPTS from //tools/bazel:defs.bzl.
cc_library(name = "openmp", linkopts = ["-fopenmp"])

{dnnl}
"""

_DEBIAN_DNNL = """
cc_library(name = "dnnl", linkopts = ["-ldnnl"])
"""

_PKG_CONFIG = "/usr/lib/x86_64-linux-gnu/pkgconfig"

def _absl_target(name, pc):
    """One cc_library from the text of a pkg-config file: its own archive and the components it requires."""
    deps = []
    linkopts = []
    for line in pc.splitlines():
        if line.startswith("Requires:"):
            deps = [":" + word for word in [_component(r) for r in line[len("Requires:"):].split(",")] if word]
        elif line.startswith("Libs:"):
            for word in line.split(" "):
                if word.startswith("-labsl_"):
                    linkopts.append("-l:lib%s.a" % word[2:])
                elif word in ["-lpthread", "-pthread", "-lrt", "-latomic"]:
                    linkopts.append("-lpthread" if word == "-pthread" else word)
    if "-latomic" in linkopts:
        linkopts = [o for o in linkopts if o != "-latomic"]  # x86-64 needs no call into libatomic.
    return "cc_library(name = %r, linkopts = %r, deps = %r)\n" % (name, linkopts, deps)

def _component(requirement):
    word = requirement.strip().split(" ")[0]
    return word[len("absl_"):] if word.startswith("absl_") else ""

def _absl_build(ctx):
    out = 'package(default_visibility = ["//visibility:public"])\n'
    for path in ctx.path(_PKG_CONFIG).readdir():
        if path.basename.startswith("absl_") and path.basename.endswith(".pc"):
            name = path.basename[len("absl_"):-len(".pc")]
            out += _absl_target(name, ctx.read(path))
    return out + 'alias(name = "random", actual = ":random_random")\n'

def _minor_version(path):
    """11 for /usr/include/python3.11 where headers are in it; 0 for anything else."""
    minor = path.basename[len("python3."):]
    return int(minor) if path.basename.startswith("python3.") and minor.isdigit() and path.get_child("Python.h").exists else 0

def _python_headers(ctx):
    """The folder of the newest Python that has headers, which Debian names by the version; None without one."""
    folders = sorted([(_minor_version(path), str(path)) for path in ctx.path("/usr/include").readdir()])
    return folders[-1][1] if folders and folders[-1][0] else None

def _system_libraries_impl(ctx):
    ctx.file("BUILD", _BUILD.format(dnnl = _DEBIAN_DNNL))
    python = _python_headers(ctx)
    if python:
        ctx.symlink(python, "python")
    ctx.file("absl/BUILD", _absl_build(ctx))

system_libraries = repository_rule(implementation = _system_libraries_impl, local = True)
