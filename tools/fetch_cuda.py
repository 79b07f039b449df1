#!/usr/bin/env python3
"""Fetches what a build with --config=cuda needs of the CUDA toolkit from the Python packages that ship it: nvcc, headers, the static runtime.

usage: fetch_cuda.py DIRECTORY

DIRECTORY becomes a CUDA_HOME (bin, include, lib64, nvvm); what stands there already is left alone. Of libraries that are opened at run time only
headers are kept. Packages are downloaded with pip (no dependencies), one by one. Environment: PIP, the pip command (default: this Python's "-m pip").
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
            if len(parts) < 3 or parts[0] != "nvidia" or member.is_dir() or not parts[2].startswith(keep):
                continue
            path = os.path.join(root, parts[2])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with archive.open(member) as source, open(path, "wb") as to:
                shutil.copyfileobj(source, to)
            mode = member.external_attr >> 16
            os.chmod(path, 0o755 if mode & 0o111 or "/bin/" in f"/{parts[2]}" else 0o644)


def main(argv):
    if len(argv) != 2:
        print("usage: fetch_cuda.py DIRECTORY", file=sys.stderr)
        return 2
    root, wanted = argv[1], "\n".join(PACKAGES) + "\n"
    done = os.path.join(root, DONE)
    if os.path.exists(done) and open(done).read() == wanted:
        return 0
    parent = os.path.dirname(os.path.abspath(root))
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as temporary:
        new = os.path.join(temporary, "new")
        for package, keep in PACKAGES.items():
            with tempfile.TemporaryDirectory(dir=temporary) as directory:
                print(f"fetch_cuda.py: {package}", file=sys.stderr)
                unpack(download(package, directory), keep, new)
        os.symlink("lib", os.path.join(new, "lib64"))
        with open(os.path.join(new, DONE), "w") as f:
            f.write(wanted)
        shutil.rmtree(root, ignore_errors=True)
        os.rename(new, root)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
