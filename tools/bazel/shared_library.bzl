"""shared_library: one shared object of a cc_library and all that it needs of this tree, for programs that are built without Bazel.

What it exports is what its public headers declare: tools/install/public_api.py finds the headers that those named here include, and which symbols
they mean; or what a linker's version script says. Libraries of the machine are linked as shared ones, Abseil above all: its types are part of the interface, so that a program and this
library have to mean the same copy.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _shared(flag):
    """-l:libabsl_base.a, as @system has it, as -labsl_base."""
    return "-l" + flag[len("-l:lib"):-len(".a")] if flag.startswith("-l:lib") and flag.endswith(".a") else flag

def _shared_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain, requested_features = ctx.features, unsupported_features = ctx.disabled_features)
    info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])

    # Whole archives: what is exported need not be what something here refers to. The linker drops what neither is.
    archives, inputs = [], [cc_common.create_linker_input(owner = ctx.label, user_link_flags = depset(["-Wl,--as-needed", "-Wl,-z," + ctx.attr.undefined, "-fuse-ld=bfd"]))]
    for linker_input in info.linking_context.linker_inputs.to_list():
        libraries = []
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive == None:
                libraries.append(library)
                continue
            archives.append(archive)
            libraries.append(cc_common.create_library_to_link(
                actions = ctx.actions,
                feature_configuration = features,
                cc_toolchain = toolchain,
                pic_static_library = archive,
                alwayslink = True,
            ))
        inputs.append(cc_common.create_linker_input(
            owner = linker_input.owner,
            libraries = depset(libraries),
            user_link_flags = depset([_shared(flag) for flag in linker_input.user_link_flags]),
            additional_inputs = depset(linker_input.additional_inputs),
        ))

    exports, made = ctx.file.exports, []
    if exports == None:
        exports = ctx.actions.declare_file(ctx.label.name + "_exports.lds")
        made = [_public_api(ctx, info, archives, exports), exports]
    linked = cc_common.link(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        name = ctx.label.name,
        output_type = "dynamic_library",
        linking_contexts = [cc_common.create_linking_context(linker_inputs = depset(inputs))],
        user_link_flags = ["-Wl,-soname," + ctx.attr.soname, "-Wl,--version-script=" + exports.path] + ctx.attr.linkopts,
        additional_inputs = [exports],
    )
    library = linked.library_to_link.resolved_symlink_dynamic_library or linked.library_to_link.dynamic_library
    files = depset([library] + made)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = depset(transitive = [files, info.compilation_context.headers])))]

def _public_api(ctx, info, archives, exports):
    """Makes `exports`, and the list of the headers that users need, which it returns."""
    headers = ctx.actions.declare_file(ctx.label.name + "_headers.txt")
    args = ctx.actions.args()
    args.add("--headers", headers)
    args.add("--exports", exports)
    args.add("--generated", ctx.bin_dir.path)
    args.add_all(ctx.attr.public, before_each = "--public")
    args.add_all(archives)
    args.use_param_file("@%s")
    args.set_param_file_format("multiline")
    ctx.actions.run_shell(
        command = "python3 %s \"$@\"" % ctx.file._public_api.path,
        arguments = [args],
        inputs = depset(archives + [ctx.file._public_api], transitive = [info.compilation_context.headers]),
        outputs = [headers, exports],
        mnemonic = "PublicApi",
        use_default_shell_env = True,
    )
    return headers

shared_library = rule(
    implementation = _shared_library_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "exports": attr.label(allow_single_file = True, doc = "A version script, in the place of `public`."),
        "linkopts": attr.string_list(),
        "public": attr.string_list(doc = "Headers of users, as they are included; with those that they include they are the interface."),
        "soname": attr.string(),
        "undefined": attr.string(default = "defs", doc = "undefs: what nothing here defines is the program's that loads it."),
        "_public_api": attr.label(default = "//tools/install:public_api.py", allow_single_file = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
