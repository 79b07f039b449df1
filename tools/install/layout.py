"""Puts what Bazel built into the folders of an installation.

  layout.py FOLDER        in the root of the source tree, or of the runfiles of //tools/install

FOLDER gets bin, include, lib and share, and share/ampc/manifest.txt with the paths of all files. No file has an absolute path in it, so the
folder may be moved.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import notices

_HERE = "tools/install/"
_TEMPLATES = {
    "ampcConfig.cmake.in": "lib/cmake/ampc/ampcConfig.cmake",
    "ampcConfigVersion.cmake.in": "lib/cmake/ampc/ampcConfigVersion.cmake",
    "ampc.pc.in": "lib/pkgconfig/ampc.pc",
    "ampc-c.pc.in": "lib/pkgconfig/ampc-c.pc",
}
_FILES = {
    "LICENSE": "share/doc/ampc/LICENSE",
    _HERE + "completion.bash": "share/bash-completion/completions/ampc",
    _HERE + "completion.zsh": "share/zsh/site-functions/_ampc",
    _HERE + "completion.fish": "share/fish/vendor_completions.d/ampc.fish",
}
# The GPU backend's own code, which a build with CUDA has; the files it is linked into look for it in the same folder of an installation.
_DEVICE_CODE = "kernels/cuda/libampc_device_code.so"
_C_HEADER = "tools/c_api/ampc.h"
# Headers of Abseil whose component is not named as they are.
_ABSL = {"string_view": "strings"}


def built(path):
    """The position of `path` of the tree: a source, an output beside it in runfiles, or one below bazel-bin."""
    return next((p for p in (os.path.join("bazel-bin", path), path) if os.path.exists(p)), path)


def read(path):
    with open(built(path), encoding="utf-8") as file:
        return file.read()


class Layout:
    def __init__(self, folder):
        self.folder = folder
        self.files = []

    def place(self, name):
        """The absolute path of a new file, whose folder is there."""
        self.files.append(name)
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def copy(self, source, name, mode=0o644):
        path = self.place(name)
        shutil.copyfile(built(source), path)
        os.chmod(path, mode)
        return path

    def write(self, name, text):
        path = self.place(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)

    def link(self, target, name):
        os.symlink(target, self.place(name))


def absl_components(headers):
    """The components of Abseil that these headers include."""
    found = set()
    for header in headers:
        for stem in re.findall(r'^#include "absl/\w+/(\w+)\.h"', read(header), re.M):
            found.add(_ABSL.get(stem, stem))
    return sorted(found)


def roff(text):
    """The lines of `text` as they stand."""
    return ".nf\n" + "".join(re.sub(r"^([.'])", r"\\&\1", line.replace("\\", "\\e").replace("-", "\\-")) + "\n" for line in text.splitlines()) + ".fi\n"


def man_pages(layout, version):
    """What --help of the command and of each of its verbs prints, as pages of man."""
    command = os.path.abspath(os.path.join(layout.folder, "bin/ampc"))
    verbs = re.findall(r"^  ([a-z]+) ", subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout.split("Subcommands:")[1], re.M)
    with tempfile.TemporaryDirectory() as folder:
        for verb in ["", *verbs]:
            name = "-".join(["ampc"] + [verb] * (verb != ""))
            text = subprocess.run([command, *[verb] * (verb != ""), "--help"], capture_output=True, text=True, check=True).stdout
            text, _, examples = text.partition("\nExamples:\n")
            help_text, script, also = (os.path.join(folder, file) for file in ("help", name, "also"))
            with open(help_text, "w", encoding="utf-8") as file:
                file.write(text)
            with open(also, "w", encoding="utf-8") as file:
                file.write("[examples]\n" + roff(examples))
            with open(script, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\nexec cat "%s"\n' % help_text)
            os.chmod(script, 0o755)
            page = ["help2man", "--no-info", "--version-string=" + version, "--name=" + text.split("\n")[0], *["--include=" + also] * (examples != ""),
                    "--output=" + layout.place("share/man/man1/" + name + ".1"), script]  # fmt: skip
            subprocess.run(page, check=True)


def main():
    layout = Layout(sys.argv[1])
    version, soversion, kind = read(_HERE + "version.txt").split()
    headers = read(_HERE + "ampc_headers.txt").split()
    for header in headers:
        layout.copy(header, "include/ampc/" + ("ampc.h" if header == _C_HEADER else header))
    absl = absl_components(headers)
    cuda = kind == "cuda"
    values = {"VERSION": version, "SOVERSION": soversion, "CUDA": "ON" if cuda else "OFF", "LINK_CUDA": " -Wl,-rpath-link,${libdir}" if cuda else "", "ABSL_CMAKE": ";absl::".join(absl), "ABSL_PKG_CONFIG": " absl_".join(absl)}
    for template, name in _TEMPLATES.items():
        layout.write(name, re.sub(r"@(\w+)@", lambda m: values[m.group(1)], read(_HERE + template)))
    for source, name in _FILES.items():
        layout.copy(source, name)
    subprocess.run(["strip", layout.copy("tools/ampc", "bin/ampc", 0o755)], check=True)
    library = "libampc.so." + version
    subprocess.run(["strip", "--strip-unneeded", layout.copy(_HERE + "libampc.so", "lib/" + library)], check=True)
    if cuda:
        subprocess.run(["strip", "--strip-unneeded", layout.copy(_DEVICE_CODE, "lib/" + os.path.basename(_DEVICE_CODE))], check=True)
    for document in read(_HERE + "documents.txt").split():
        layout.copy(document, "share/doc/ampc/" + document)
    texts = notices.notices(read(_HERE + "linked.txt").split())
    if cuda:
        texts.update(notices.of_cuda())
    for name, path in texts.items():
        layout.copy(path, "share/doc/ampc/licenses/" + name)
    man_pages(layout, version)
    layout.link(library, "lib/libampc.so." + soversion)
    layout.link("libampc.so." + soversion, "lib/libampc.so")
    manifest = "share/ampc/manifest.txt"
    layout.write(manifest, "".join(name + "\n" for name in sorted(layout.files + [manifest])))


if __name__ == "__main__":
    main()
