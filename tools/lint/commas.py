"""A statement does one thing: no comma operator joins assignments, increments or calls."""

import re

from tree import SOURCES, files, lines

_COMMENT = re.compile(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_TEMPLATE = re.compile(r"(?<=\w)<[\w:,.*& ]*(?:<[\w:,.*& ]*>[\w:,.*& ]*)*>(?=[({:;)]|\s[?:])")
_HEAD = re.compile(r"\s*(?:else\s+)?(?:if|while|for|switch)\s*(?:constexpr\s*)?\(|\s*else\b|\s*case [^:]+:(?!:)|\s*default:|\s*return\b")
_PART = re.compile(r"\*?\w[\w:]*(?:->\w+|\.\w+|\[[^\]]*\]|\([^()]*\))*\s*(?:[-+*/|&^]?=|<<)\s.*|(?:\+\+|--)[\w.>\[\]-]+|[\w:.>\[\]-]+\(.*\)", re.S)


def _blank(found):
    text = found.group(0)
    return " " * len(text) if text.startswith("//") else text[0] + "_" * (len(text) - 2) + text[-1]


def _end_of(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    return len(text)


def split(statement):
    """The parts between commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(statement):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(statement[begin:i])
            begin = i + 1
    return parts + [statement[begin:]]


def statements(text):
    """(begin, end, whether it is returned) of each statement that ends in `;`, without the heads of if, for and return in front of it."""
    begin = depth = 0
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and c in ";{}":
            if c == ";":
                at, returns = begin, False
                while head := _HEAD.match(text, at, i):
                    at = _end_of(text, head.end() - 1) if head.group(0).endswith("(") else head.end()
                    returns = head.group(0).endswith("return")
                yield at, i, returns
            begin = i + 1


def joined(text):
    """(begin, end) of each statement with a comma operator in a source."""
    plain = _COMMENT.sub(_blank, text)
    plain = _TEMPLATE.sub(lambda m: "_" * len(m.group(0)), plain)
    plain = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), plain, flags=re.M)
    for begin, end, returned in statements(plain):
        parts = split(plain[begin:end])
        if len(parts) > 1 and (returned or all(_PART.fullmatch(part.strip()) for part in parts)):
            yield begin, end


def check(root):
    problems = []
    for path in files(root, SOURCES):
        text = "\n".join(lines(root, path))
        for begin, _ in joined(text):
            number = text.count("\n", 0, begin + len(text[begin:]) - len(text[begin:].lstrip())) + 1
            problems.append("%s:%d: a comma joins statements; each has a line of its own" % (path, number))
    return problems
