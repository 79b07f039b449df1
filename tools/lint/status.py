"""A StatusOr is looked at before it is taken apart: by text, for results of calls and for variables.

Of a call whose function returns absl::StatusOr wherever it is declared, `*Call(...)`, `Call(...)->` and `Call(...).value()` are errors. A variable that is
declared as one, or as auto from such a call, is asked `.ok()` or `.status()`, or handed on whole, before the first `*x`, `x->` or `x.value()` of its function.
"""

import re

from tree import SOURCES, files, lines

_FOLDERS = ("graph", "passes", "kernels", "runtime", "tools")
_FUNCTION = re.compile(r"([\w:<>,&* ]*[\w>&*])\s+\**((?:[A-Z]\w*::)*[A-Z]\w*)\(")
_DECLARED = re.compile(r"\bStatusOr<.*>\s+(\w+)\s*(=|\(|\{|;)")
_AUTO = re.compile(r"\bauto&?\s+(\w+)\s*=\s*(?:[\w.]+(?:->|\.))*((?:[A-Z]\w*::)?[A-Z]\w*)\(")
_COMMENT = re.compile(r"//.*|\"(?:[^\"\\]|\\.)*\"")
_NOT_A_TYPE = {"return", "new", "else", "case", "throw", "co_return", "and", "or", "not"}


def _code(root, path):
    return [_COMMENT.sub("\"\"", line) for line in lines(root, path)]


def _declarations(text):
    """Of each declared function: its name, and whether it returns a StatusOr."""
    for line in text:
        for match in _FUNCTION.finditer(line):
            before, name = match.group(1).strip(), match.group(2)
            if before.split()[-1] in _NOT_A_TYPE or "=" in line[: match.start()]:
                continue
            yield name, "StatusOr<" in before  # Class::Name where it is defined outside of its class
            if "::" in name:
                yield name.split("::")[-1], "StatusOr<" in before


def _calls(names, line):
    """Calls of these functions whose result is taken apart at once."""
    for match in re.finditer(r"\b((?:[A-Z]\w*::)?[A-Z]\w*)\(", line):
        if match.group(1) not in names and match.group(1).split("::")[-1] not in names:
            continue
        depth, end = 1, match.end()
        while end < len(line) and depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        before = re.sub(r"(?:\w+(?:\.|->|::))*$", "", line[: match.start()])
        starred = re.search(r"(?:^|[=(,!<>?:&|{+\-;]|\breturn)\s*\(?\*$", before)
        if starred or (not depth and re.match(r"\s*(->|\.value\(\))", line[end:])):
            yield match.group(1)


def _variables(names, text):
    """Line and name of a variable that is taken apart before it was asked."""
    asked = {}
    for number, line in enumerate(text, 1):
        if line.startswith("}"):
            asked = {}
        for name in list(asked):
            use = re.search(r"(?<![\w.>)\]])\*(?:std::move\()?%s\b(?!\w)|\b%s->|\b%s\.value\(\)" % (name, name, name), line)
            look = re.search(r"\b%s\.(ok|status)\(\)|[(,]\s*&?%s\s*[,)]|\breturn %s;|\b%s = |EXPECT_|ASSERT_" % (name, name, name, name), line)
            if look and (not use or look.start() <= use.start() or re.search(r"\b%s\.ok\(\)" % name, line)):
                del asked[name]
            elif use:
                yield number, name
                del asked[name]
        declared = _DECLARED.search(line)
        taken = _AUTO.search(line)
        if declared and declared.group(2) != "(" and not line.lstrip().startswith(("using", "template")):
            asked[declared.group(1)] = number
        elif taken and (taken.group(2) in names or taken.group(2).split("::")[-1] in names) and "*" not in line[: taken.end()].split("=")[-1]:
            asked[taken.group(1)] = number


def check(root):
    code = {path: _code(root, path) for path in files(root, SOURCES) if path.split("/")[0] in _FOLDERS}
    returns = {}
    for text in code.values():
        for name, status in _declarations(text):
            returns.setdefault(name, set()).add(status)
    names = {name for name, kinds in returns.items() if kinds == {True}}
    problems = []
    for path, text in code.items():
        for number, line in enumerate(text, 1):
            for name in _calls(names, line):
                problems.append("%s:%d: the result of %s is taken apart before it was asked whether it is ok" % (path, number, name))
        for number, name in _variables(names, text):
            problems.append("%s:%d: '%s' is taken apart before it was asked whether it is ok" % (path, number, name))
    return problems
