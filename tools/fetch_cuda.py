#!/usr/bin/env python3
"""Fetches what a build with --config=cuda needs of the CUDA toolkit from the packages that ship it: nvcc, headers, the static runtime.

usage: fetch_cuda.py [--toolkit 12|13|cuobjdump] DIRECTORY

DIRECTORY becomes a CUDA_HOME (bin, include, lib64, nvvm); what stands there already is left alone. Of libraries that are opened at run time only
headers are kept. CUDA 13 comes from Python packages, downloaded with pip (no dependencies), one by one. Of CUDA 12 these have no nvcc; it
is Debian 13's, from its section non-free, where apt knows Debian's archive (a gigabyte; nothing is installed). Environment: PIP, the pip command
(default: this Python's "-m pip"). cuobjdump is that tool alone, in bin, of a release that reads what any toolkit here makes.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile

ALL = ("bin/", "include/", "nvvm/", "lib/libcudart_static.a", "lib/libcudadevrt.a")
HEADERS = ("include/",)
# package: what is kept of it, by the beginning of its path below nvidia/<folder>/
PACKAGES = {
    "nvidia-cuda-nvcc==13.0.88": ALL,
    "nvidia-cuda-crt==13.0.88": ALL,
    "nvidia-nvvm==13.0.88": ALL,
    "nvidia-cuda-runtime==13.0.96": ALL,
    "nvidia-cuda-cccl==13.0.85": ALL,
    "nvidia-nvtx==13.0.85": HEADERS,
    "nvidia-nccl-cu13==2.28.9": HEADERS,
    "nvidia-cudnn-cu13==9.19.0.56": HEADERS,
    "nvidia-cublas==13.1.0.3": HEADERS,
}
CUOBJDUMP = {"nvidia-cuda-cuobjdump==13.2.51": ("bin/",)}
# The same for CUDA 12, beside what Debian has.
PACKAGES_12 = {
    "nvidia-cuda-cccl-cu12==12.6.77": HEADERS,
    "nvidia-nccl-cu12==2.28.9": HEADERS,
    "nvidia-cudnn-cu12==9.19.0.56": HEADERS,
}
# Debian's package: which of its paths become which of the folder.
DEBIAN_12 = {
    "nvidia-cuda-toolkit=12.4.131~12.4.1-2": {
        "./usr/lib/nvidia-cuda-toolkit/bin/nvcc": "bin/",
        "./usr/lib/nvidia-cuda-toolkit/bin/crt": "bin/",
        "./usr/lib/nvidia-cuda-toolkit/bin/cicc": "nvvm/bin/",
        "./usr/lib/nvidia-cuda-toolkit/libdevice": "nvvm/",
        "./usr/bin/cudafe++": "bin/",
        "./usr/bin/fatbinary": "bin/",
        "./usr/bin/nvlink": "bin/",
        "./usr/bin/ptxas": "bin/",
        "./usr/bin/bin2c": "bin/",
    },
    "nvidia-cuda-dev=12.4.127~12.4.1-2": {
        "./usr/include": "",
        "./usr/lib/x86_64-linux-gnu/libcudart_static.a": "lib/",
        "./usr/lib/x86_64-linux-gnu/libcudadevrt.a": "lib/",
    },
}
# Debian's own says where Debian installs it.
PROFILE_12 = """TOP = $(_HERE_)/..
CICC_PATH = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(CICC_PATH):$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib"
"""
DONE = "packages"  # the file that says what a complete folder was made of


def download(package, directory):
    pip = shlex.split(os.environ.get("PIP", "")) or [sys.executable, "-m", "pip"]
    command = pip + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-d", directory, package]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"fetch_cuda.py: '{' '.join(command)}' failed; the package {package} is needed")
    return os.path.join(directory, os.listdir(directory)[0])


def unpack(wheel, keep, root):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            parts = member.filename.split("/", 2)
            if parts[0].startswith("nvidia_cuda_runtime") and parts[-1].lower().endswith("license.txt"):
                with archive.open(member) as source, open(os.path.join(root, "EULA.txt"), "wb") as to:  # as NVIDIA's own installer names it
                    shutil.copyfileobj(source, to)
            if len(parts) < 3 or parts[0] != "nvidia" or member.is_dir() or not parts[2].startswith(keep):
                continue
            path = os.path.join(root, parts[2])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with archive.open(member) as source, open(path, "wb") as to:
                shutil.copyfileobj(source, to)
            mode = member.external_attr >> 16
            os.chmod(path, 0o755 if mode & 0o111 or "/bin/" in f"/{parts[2]}" else 0o644)


def debian_source():
    """Debian's archive as apt has it from the sources of this machine, for another release and section."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.split()
    if not found:
        sys.exit("fetch_cuda.py: apt knows no archive of Debian, needed for a toolkit of CUDA 12 ('apt-get update' was not run, or this is no Debian)")
    return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {found[0]} trixie non-free\n"


def fetch_debian(temporary, root):
    """With lists and a cache of its own: the machine's apt does not learn of Debian 13."""
    apt = os.path.join(temporary, "apt")
    for folder in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(apt, folder))
    with open(os.path.join(apt, "sources.list"), "w") as f:
        f.write(debian_source())
    places = {"Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::Cache": "cache"}
    options = ["-qq", "-o", "Dir::Etc::sourceparts=/dev/null", "-o", "APT::Sandbox::User=root"]
    for key, place in places.items():
        options += ["-o", f"{key}={apt}/{place}"]
    subprocess.run(["apt-get", *options, "update"], check=True)
    for package, places in DEBIAN_12.items():
        print(f"fetch_cuda.py: {package}", file=sys.stderr)
        unpacked = os.path.join(apt, "unpacked")
        os.makedirs(unpacked)
        subprocess.run(["apt-get", *options, "download", package], check=True, cwd=apt)
        deb = [name for name in os.listdir(apt) if name.endswith(".deb")][0]
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], cwd=apt, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", unpacked, *places], stdin=archive.stdout, check=True)
        for source, to in places.items():
            os.makedirs(os.path.join(root, to), exist_ok=True)
            shutil.move(os.path.join(unpacked, source), os.path.join(root, to))
        os.remove(os.path.join(apt, deb))
        shutil.rmtree(unpacked)
    with open(os.path.join(root, "bin/nvcc.profile"), "w") as f:
        f.write(PROFILE_12)


def main(argv):
    toolkit = argv[2] if len(argv) == 4 and argv[1] == "--toolkit" else "13" if len(argv) == 2 else ""
    packages, debian = {"12": (PACKAGES_12, DEBIAN_12), "13": (PACKAGES, {}), "cuobjdump": (CUOBJDUMP, {})}.get(toolkit, ({}, {}))
    if not packages or argv[-1].startswith("-"):
        print("usage: fetch_cuda.py [--toolkit 12|13|cuobjdump] DIRECTORY", file=sys.stderr)
        return 2
    root = argv[-1]
    wanted = "\n".join([*packages, *debian]) + "\n"
    done = os.path.join(root, DONE)
    if os.path.exists(done) and open(done).read() == wanted:
        return 0
    parent = os.path.dirname(os.path.abspath(root))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as temporary:
        new = os.path.join(temporary, "new")
        if debian:
            fetch_debian(temporary, new)
        for package, keep in packages.items():
            with tempfile.TemporaryDirectory(dir=temporary) as directory:
                print(f"fetch_cuda.py: {package}", file=sys.stderr)
                unpack(download(package, directory), keep, new)
        if os.path.exists(os.path.join(new, "lib")):
            os.symlink("lib", os.path.join(new, "lib64"))
        with open(os.path.join(new, DONE), "w") as f:
            f.write(wanted)
        shutil.rmtree(root, ignore_errors=True)
        os.rename(new, root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
