"""tools/docs/flow.md says where things happen: every function of its tables stands in the file beside it, every file that it names exists, and the steps
of a conversion are the lines of Convert, in this order."""

import os
import re

_PAGE = "tools/docs/flow.md"
_ROW = re.compile(r"^\| (\w+) \| `([\w:]+)` \| `([\w/.]+)` \|")
_FILE = re.compile(r"`((?:graph|passes|kernels|runtime|tools)/[\w/]+\.\w+)`")
_LINE = re.compile(r"conversion\.(\w+)\(\)")


def _read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check(root):
    problems, steps = [], []
    convert = "runtime/convert/convert.cc"
    for number, line in enumerate(_read(root, _PAGE).split("\n"), 1):
        for path in _FILE.findall(line):
            if not os.path.exists(os.path.join(root, path)):
                problems.append("%s:%d: there is no %s" % (_PAGE, number, path))
        row = _ROW.match(line)
        if not row or not os.path.exists(os.path.join(root, row.group(3))):
            continue
        function, path = row.group(2), row.group(3)
        if not re.search(r"(?<![\w.>])%s\(" % re.escape(function), _read(root, path)):
            problems.append("%s:%d: %s has no function %s" % (_PAGE, number, path, function))
        if path == convert:
            steps.append(function)
    code = _LINE.findall(_read(root, convert))
    if steps != code:
        problems.append("%s: the steps of a conversion are %s, %s has %s" % (_PAGE, ", ".join(steps), convert, ", ".join(code)))
    return problems
