"""The layout of the C++ sources is what clang-format 14 makes of them with the tree's .clang-format."""

import os
import re
import subprocess

from tree import SOURCES, files

_WARNING = re.compile(r"^(?:.*/)?((?:%s)/\S+?:\d+):\d+: (?:error|warning): code should be clang-formatted" % "|".join(
    ("graph", "passes", "kernels", "runtime", "tools", "tests")))
_AT_ONCE = 200  # files: a command line is limited


def check(root):
    paths, problems = files(root, SOURCES), []
    for first in range(0, len(paths), _AT_ONCE):
        command = ["clang-format", "--dry-run", "--style=file", *paths[first : first + _AT_ONCE]]
        run = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        found = [match.group(1) for match in map(_WARNING.match, run.stderr.split("\n")) if match]
        problems += ["%s: the layout is not clang-format's; clang-format -i mends it" % place for place in found]
        if run.returncode != 0 and not found:
            problems.append("clang-format: %s" % run.stderr.strip())
    return problems
