"""Size budgets: a header has at most 150 lines, a source or an -inl.h 400, a function 60; size_allow.txt lists the exceptions.

A line of size_allow.txt is `PATH LINES` for a file or `PATH FUNCTION LINES` for a function. It names the size of today, so it can only shrink:
an entry that is larger than needed, or not needed any more, is reported too.
"""

import re

from tree import SOURCES, files, lines

HEADER, SOURCE, FUNCTION = 150, 400, 60
ALLOW_FILE = "tools/lint/size_allow.txt"
# The opening line of something that is no function.
_NOT_FUNCTION = re.compile(r"^\s*(namespace|class|struct|enum|union|extern)\b|=\s*\{$|^\s*[})]")


def functions(text):
    """(name, number of lines) of each function that is defined at column 0 or, in a class, at column 2, as clang-format lays it out."""
    start = None
    for number, line in enumerate(text):
        if start is None:
            if line.endswith("{") and "(" in _statement(text, number) and not _NOT_FUNCTION.search(_statement(text, number)):
                first = _first_line(text, number)
                column = len(text[first]) - len(text[first].lstrip())
                if column <= 2:
                    start = (first, column)
        elif line.startswith(" " * start[1] + "}"):
            first = text[start[0]]
            name = re.search(r"([\w:~]+|operator\S+)\s*\(", " ".join(text[start[0] : start[0] + 4]))
            yield (name.group(1) if name else first.strip()), number - start[0] + 1
            start = None


def _first_line(text, number):
    """The line where the statement that ends at `number` begins: parameters may be wrapped."""
    while number > 0 and text[number - 1].strip() and not re.search(r"[;{}:>]$|^\s*(//|#|template)", text[number - 1]):
        number -= 1
    return number


def _statement(text, number):
    return " ".join(text[_first_line(text, number) : number + 1])


def _sizes(root):
    """{(path, function or ""): (lines, budget)} of everything over its budget."""
    over = {}
    for path in files(root, SOURCES):
        text = lines(root, path)
        budget = HEADER if path.endswith(".h") and not path.endswith("-inl.h") else SOURCE
        if len(text) - 1 > budget:
            over[path, ""] = (len(text) - 1, budget)
        for name, size in functions(text):
            if size > FUNCTION and not path.startswith("tests/"):
                over[path, name] = (size, FUNCTION)
    return over


def check(root):
    over = _sizes(root)
    allowed = {}
    for line in lines(root, ALLOW_FILE):
        words = line.split("#")[0].split()
        if words:
            allowed[words[0], words[1] if len(words) == 3 else ""] = int(words[-1])
    problems = []
    for (path, name), (size, budget) in sorted(over.items()):
        if allowed.get((path, name)) != size:
            what = "%s: %s" % (path, "function %s" % name if name else "file")
            problems.append("%s has %d lines, the budget is %d; %s" % (what, size, allowed.get((path, name), budget), "split it"))
    for path, name in sorted(set(allowed) - set(over)):
        problems.append("%s: '%s' is within its budget; remove its line" % (ALLOW_FILE, " ".join((path, name)).strip()))
    return problems
