"""The source tree as the checks see it."""

import os

FOLDERS = ("proto", "graph", "passes", "kernels", "runtime", "tools", "tests")
SOURCES = (".h", ".cc", ".cu")


def files(root, suffixes, folders=FOLDERS):
    """Paths below `folders`, relative to `root`, sorted, that end in one of `suffixes`; folders named golden hold data and are left out."""
    found = []
    for folder in folders:
        for where, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = [s for s in subfolders if s not in ("__pycache__", "golden")]
            found += [os.path.relpath(os.path.join(where, name), root) for name in names if name.endswith(tuple(suffixes))]
    return sorted(found)


def lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as text:
        return text.read().split("\n")
