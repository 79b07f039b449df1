"""The notices of the libraries that programs of this tree carry: the copyright files of the Debian packages that these come from.

  notices.py FOLDER LIBRARY...    LIBRARY is a label of @system (system.bzl), or a shared object of the machine

FOLDER gets PACKAGE.txt for each, and common-licenses/NAME for what these texts refer to. It is an error where a library has no notice.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

_DOC = "/usr/share/doc"
_COMMON = "/usr/share/common-licenses"
# By the target of @system; None: nothing of it is carried.
_PACKAGES = {
    "absl": "libabsl-dev",
    "benchmark": None,  # of tests
    "cli11": "libcli11-dev",
    "dnnl": "libdnnl-dev",
    "gtest": None,
    "gtest_main": None,
    "hwy": "libhwy-dev",
    "hwy_contrib": "libhwy-dev",
    "openmp": "libgomp1",
    "protobuf": "libprotobuf-dev",
    "pthread": None,  # the machine's C library
    "python": None,  # declarations only: an interpreter has the functions
    "stb": "libstb-dev",
    "zlib": "zlib1g-dev",
}


def package_of(library):
    """The Debian package of a label of @system or a shared object, None where nothing of it is carried."""
    if library.startswith("@"):
        target = library.split("//", 1)[1].split(":")
        name = target[0] or target[1]
        if name not in _PACKAGES:
            sys.exit("notices.py: of %s no package is known; add it to _PACKAGES" % library)
        return _PACKAGES[name]
    path = os.path.realpath(library)
    for known_as in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", known_as], capture_output=True, text=True).stdout
        if found:
            return found.split(":")[0]
    sys.exit("notices.py: %s is of no package" % library)


def notices(libraries):
    """{name: path} of the texts."""
    texts = {}
    for package in sorted({package_of(library) for library in libraries} - {None}):
        path = os.path.join(_DOC, package, "copyright")
        if not os.path.exists(path):
            sys.exit("notices.py: %s is not there" % path)
        texts[package + ".txt"] = path
        with open(path, encoding="utf-8", errors="replace") as file:
            for name in re.findall(_COMMON + r"/([\w.+-]*\w)", file.read()):
                texts["common-licenses/" + name] = os.path.join(_COMMON, name)
    return texts


def of_cuda():
    """{name: path} of the notice of CUDA's runtime library, which the GPU backend is linked with; empty where the toolkit came without it."""
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda", os.path.expanduser("~/.cache/ampc/cuda")):
        for pattern in ("EULA.txt", "dist-info/nvidia_cuda_runtime*/licenses/License.txt"):
            for path in glob.glob(os.path.join(root or "/nowhere", pattern)):
                return {"cuda-runtime.txt": path}
    return {}


def main():
    folder = sys.argv[1]
    for name, path in notices(sys.argv[2:]).items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copyfile(path, os.path.join(folder, name))


if __name__ == "__main__":
    main()
