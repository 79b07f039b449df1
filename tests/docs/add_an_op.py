#!/usr/bin/env python3
"""Adds an op as tools/docs/how_to_add_an_op.md says, in a copy of the tree, and runs its tests: what the page shows is all that an op needs.

add_an_op.py COPY [BAZEL OPTION...]     COPY: a folder that does not exist

The op is the page's own under another name: each block of lines that knows it is written again behind itself. Prints the files that were touched.
"""

import pathlib
import re
import shutil
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PAGE = "tools/docs/how_to_add_an_op.md"
_OP, _NEW = "softsign", "softsign_again"
_TESTS = ["//tests/ops/...", "//tests/kernels/...", "//tests/autodiff/...", "//tools:ampc"]


def renamed(text):
    return text.replace(_OP, _NEW).replace(_OP.capitalize(), "".join(word.capitalize() for word in _NEW.split("_")))


def of_op(block):
    """The lines of a block that an op brings along: all of them, but for neighbours that show where a line of a list goes."""
    lines = block.splitlines(keepends=True)
    listed = all(re.match(r'\s*(X\(|AMPC_|"|with )', line) for line in lines)
    return "".join(line for line in lines if not listed or _OP in line.lower())


def add(path, block):
    """Writes a block of the page again behind itself, or its whole file under the new name where the op has one of its own."""
    if path.stem == _OP:
        path.with_name(_NEW + path.suffix).write_text(renamed(path.read_text()))
        return path.with_name(_NEW + path.suffix)
    text = path.read_text()
    at = text.index(block) + len(block)
    path.write_text(text[:at] + ("\n" if block.startswith("===") else "") + renamed(of_op(block)) + text[at:])
    return path


def main():
    copy, options = pathlib.Path(sys.argv[1]), sys.argv[2:]
    files = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, files):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_ROOT / name, copy / name, follow_symlinks=False)
    page = (copy / _PAGE).read_text()
    touched = set()
    for path, block in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", page, re.M | re.S):
        if _OP in block.lower():
            touched.add(add(copy / path, block).relative_to(copy).as_posix())
    print("\n".join(sorted(touched)))
    if len(touched) > 6:
        sys.exit(f"the page touches {len(touched)} files, needs at most 6")
    program = re.search(r"^```text new=\S+\n(.*?)^```$", page, re.M | re.S).group(1)
    (copy / "added.prog").write_text(renamed(program))
    subprocess.run(["bazel", "test", "--noshow_progress", *options, *_TESTS], cwd=copy, check=True)
    for command in (["convert", "added.prog", "-o", "added_fp16.prog"], ["compare", "added.prog", "added_fp16.prog", "--random", "--dims", "x=2,4"]):
        subprocess.run(["bazel-bin/tools/ampc", *command], cwd=copy, check=True)


if __name__ == "__main__":
    main()
