"""joined: sources compiled together, several as one translation unit.

Most of the time a small source takes is parsing what it includes; sources that include the same are compiled together in the time of one and a
little: 49 records of graph/ops in 3.3 s of user time instead of 43 s (tools/bazel/compile_time.sh; GCC 12, 2 cores). Names that they keep to
themselves (in anonymous namespaces, macros) then have to differ within a target.

    cc_library(name = "records", srcs = joined(glob(["*.cc"]), units = 12), ...)
"""

# Messages and debug information name the source: #line.
_JOIN = """
unit=$1; shift
for source; do printf '#line 1 "%s"\\n' "$source"; cat "$source"; done > "$unit"
"""

def _joined_unit_impl(ctx):
    unit = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        command = _JOIN,
        arguments = [unit.path] + [source.path for source in ctx.files.srcs],
        inputs = ctx.files.srcs,
        outputs = [unit],
        mnemonic = "JoinSources",
    )
    return DefaultInfo(files = depset([unit]))

_joined_unit = rule(
    implementation = _joined_unit_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"])},
)

def joined(srcs, units = 1, prefix = "joined"):
    """The `srcs` of a C++ target that compiles these sources as a number of units.

    A source's unit depends on its own name only, so that a new source changes one unit.

    Args:
      srcs: sources of this package.
      units: how many translation units.
      prefix: of the units' names, where a package has several joined targets.

    Returns:
      The units, generated sources.
    """
    members = [[src for src in srcs if hash(src) % units == unit] for unit in range(units)]
    names = []
    for unit, sources in enumerate(members):
        if sources:
            names.append("%s_%d.cc" % (prefix, unit))
            _joined_unit(name = names[-1], srcs = sources, visibility = ["//visibility:private"])
    return names
