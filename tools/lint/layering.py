"""The chain proto -> graph -> {passes, kernels} -> runtime -> tools, by the text of the include lines. Bazel's visibility says the same of targets."""

import re

from tree import FOLDERS, SOURCES, files, lines

# The folders that each folder may include; tests may include anything.
ALLOWED = {
    "proto": {"proto"},
    "graph": {"proto", "graph"},
    "passes": {"graph", "passes"},
    "kernels": {"graph", "kernels"},
    "runtime": {"graph", "passes", "kernels", "runtime"},
    "tools": {"graph", "passes", "kernels", "runtime", "tools"},
}
_OURS = re.compile(r'^\s*#include "(\w+)/')
_CUDA = re.compile(r"^\s*#include [<\"](cuda|cublas|cudnn|nccl|cub/|thrust/)")
_DNNL = re.compile(r"^\s*#include [<\"](oneapi/)?dnnl")


def _problem(path, line):
    folder = path.split("/")[0]
    if folder not in ALLOWED:
        return None
    ours = _OURS.match(line)
    if ours and ours.group(1) in FOLDERS and ours.group(1) not in ALLOWED[folder]:
        return "%s may include %s only" % (folder, ", ".join(sorted(ALLOWED[folder])))
    if ".pb.h" in line and not re.match(r"graph/formats/.*\.(cc|h)$", path):
        return "generated protobuf headers are for graph/formats"
    if _CUDA.match(line) and folder != "kernels":
        return "CUDA headers are for kernels"
    if _DNNL.match(line) and folder != "kernels":
        return "oneDNN headers are for kernels"
    return None


def check(root):
    problems = []
    for path in files(root, SOURCES):
        text = lines(root, path)
        for number, line in enumerate(text, 1):
            problem = _problem(path, line) if line.lstrip().startswith("#include") else None
            if problem:
                problems.append("%s:%d: '%s': %s" % (path, number, line.strip(), problem))
        if path.endswith(".h") and not path.endswith("-inl.h") and "#pragma once" not in text:  # Highway includes -inl.h once per target.
            problems.append("%s: a header needs #pragma once" % path)
    return problems
