"""Changes of a source by one token, and those that a seed draws."""

import hashlib
import os
import re
from collections import namedtuple

from tokens import statements, tokens

# start, end: the characters of `path` that `after` replaces; line: counted from 1; kind: what is changed, a word for the table.
Mutant = namedtuple("Mutant", "path line start end before after kind key")

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=",
}  # fmt: skip
_BOUNDS = ("<", "<=", ">", ">=")
_NAMES = {"min": "max", "max": "min", "any_of": "all_of", "all_of": "any_of", "front": "back", "back": "front", "true": "false", "false": "true"}
_EMPTY_RETURNS = {"", "{}", "nullptr", "false", "true", "0", "std::nullopt", "absl::OkStatus()", '""'}
# The start of a declaration, or of a statement that computes nothing.
_NO_STATEMENT = {
    "using", "namespace", "typedef", "static_assert", "const", "constexpr", "static", "auto", "if", "for", "while", "switch", "case", "default", "goto",
    "public", "private", "protected", "struct", "class", "enum", "union", "template", "friend", "virtual", "explicit", "inline", "extern", "return",
    "assert", "else", "do", "thread_local", "throw", "delete",
}  # fmt: skip
_ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
_ENUM = re.compile(r"\benum (?:class )?(\w+)[^{};()]*\{([^}]*)\}")


def enumerations(texts):
    """{name: its enumerators in order} of the texts of headers and sources; a name that stands for two different ones is left out."""
    found = {}
    for text in texts:
        text = re.sub(r"//[^\n]*", "", text)
        for name, body in _ENUM.findall(text):
            values = re.findall(r"(?:^|,)\s*(k\w+)", body)
            found[name] = [] if found.get(name, values) != values else values
    return {name: values for name, values in found.items() if len(values) > 1}


def _apart(found, i):
    """Whether blanks are around the token: a binary operator, in clang-format's layout."""
    return 0 < i < len(found) - 1 and found[i - 1].end < found[i].start and found[i].end < found[i + 1].start


def _is_unary(found, i):
    before = found[i - 1].text if i else ";"
    return found[i].end == found[i + 1].start and not re.match(r"[\w)\]\"']", before[-1]) or before in ("return", "case")


def _number(text, more):
    if re.fullmatch(r"\d{1,9}", text):
        return str(int(text) + 1) if more or int(text) == 0 else str(int(text) - 1)
    return "(%s %s 1)" % (text, "+" if more else "-")


def _token_changes(found, enums):
    """(index, what it becomes, kind); a constant becomes one more or one less: both are given, of which one is kept."""
    for i in range(1, len(found) - 1):
        text, before, behind = found[i].text, found[i - 1].text, found[i + 1].text
        if found[i].in_type or before == "operator":
            continue
        if text in _OPERATORS and _apart(found, i):
            if not (text in ("+", "<<", ">>") and (before[-1] in "\"'" or behind[0] in "\"'")):
                yield i, (_OPERATORS[text],), "bound" if text in _BOUNDS else "operator"
        elif text in ("!", "-") and _is_unary(found, i):
            yield i, ("",), "operator"
        elif text in _NAMES and (text in ("true", "false") or before in (".", "->", "::")) and (text in ("true", "false") or behind in "(<"):
            yield i, (_NAMES[text],), "constant" if text in ("true", "false") else "name"
        elif text[0].isdigit() or (text[0] == "." and text[1:].isdigit()):
            yield i, (_number(text, True), _number(text, False)), "constant"
        elif text == "::" and before in enums and behind in enums[before] and found[i - 2].text != "case":
            values = enums[before]
            where = values.index(behind)
            yield i + 1, (values[(where + 1) % len(values)], values[where - 1]), "constant"


def _is_declaration(found, statement):
    for i in range(statement.first, statement.last):
        text = found[i].text
        if text in _ASSIGN or text in ("(", "["):
            return False
        if i > statement.first and re.match(r"[A-Za-z_]", text) and (re.match(r"\w", found[i - 1].text) or found[i - 1].text in ("&", "*", "&&", ">")):
            return True
    return True


def _dropped(found, statement):
    """Whether the statement does something that its absence would undo."""
    words = [t.text for t in found[statement.first : statement.last]]
    if words in (["break"], ["continue"], ["return"]):
        return True
    first = words[0]
    if first in _NO_STATEMENT or first in (")", "]", "}", ",", ":") or re.match(r"\w*(ASSIGN|CHECK|LOG)", first) or "reserve" in words:
        return False
    if words[:2] == ["(", "void"] or words[-1:] in (["delete"], ["default"]) or _is_declaration(found, statement):
        return False
    return bool(_ASSIGN & set(words)) or "(" in words or "++" in words or "--" in words


def _changes(text, enums):
    """(start, end, what it may become, kind), in the order of the text."""
    found = tokens(text)
    silent = set()  # tokens of statements that decide nothing
    result = []
    for statement in statements(found):
        words = [t.text for t in found[statement.first : statement.last]]
        start, end = found[statement.first].start, found[statement.last].start
        if words[0] == "static_assert" or "reserve" in words or re.match(r"LOG|DCHECK|VLOG", words[0]):
            silent.update(range(statement.first, statement.last))
        elif words[0] == "return" and text[start + 6 : end].strip() not in _EMPTY_RETURNS and not re.fullmatch(r"-?\d+", text[start + 6 : end].strip()):
            result.append((start, end, ("return {}",), "return"))
        elif _dropped(found, statement):
            result.append((start, end, ("",), "statement"))
    result += [(found[i].start, found[i].end, after, kind) for i, after, kind in _token_changes(found, enums) if i not in silent]
    return sorted(result)


def mutants(path, text, enums, seed, seen=None):
    """Every mutant of a source; of two that one token could become, the seed takes one. Keys stay the same while the lines concerned and the file's name
    do, in whichever folder it lies and however a line is indented. `seen` counts what several files have alike."""
    result, seen = [], {} if seen is None else seen
    for start, end, choices, kind in _changes(text, enums):
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line = text[line_start : line_end if line_end >= 0 else len(text)]
        column = start - line_start - (len(line) - len(line.lstrip()))
        where = "%s|%s|%d|%s" % (os.path.basename(path), line.strip(), column, kind)
        seen[where] = seen.get(where, 0) + 1
        digest = hashlib.sha256(("%s|%s|%d" % (seed, where, seen[where])).encode()).hexdigest()
        after = choices[int(digest[-2:], 16) % len(choices)]
        if after == text[start:end]:
            continue
        result.append(Mutant(path, text.count("\n", 0, start) + 1, start, end, text[start:end], after, kind, digest[:16]))
    return result


def by_hand(path, line, before, after, root):
    """The mutant that a person names by what stands in a line, once."""
    with open(os.path.join(root, path), encoding="utf-8") as source:
        text = source.read()
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or lines[line - 1].count(before) != 1:
        raise ValueError("%s:%d: '%s' does not stand there once" % (path, line, before))
    start = sum(len(one) + 1 for one in lines[: line - 1]) + lines[line - 1].index(before)
    key = hashlib.sha256(("%s|%s|%s|%s" % (path, lines[line - 1].strip(), before, after)).encode()).hexdigest()[:16]
    return Mutant(path, line, start, start + len(before), before, after, "by hand", key)


def draw(root, folders, seed):
    """All mutants of the sources (.cc) below `folders`, in the order in which the seed draws them; a changed line moves only its own."""
    texts = {}
    for folder in ("graph", "passes", "kernels", "runtime"):
        for where, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith((".cc", ".h")):
                    with open(os.path.join(where, name), encoding="utf-8") as source:
                        texts[os.path.relpath(os.path.join(where, name), root)] = source.read()
    enums = enumerations(texts.values())
    result, seen = [], {}
    for path, text in texts.items():
        if path.endswith(".cc") and any(path == f or path.startswith(f.rstrip("/") + "/") for f in folders):
            result += mutants(path, text, enums, seed, seen)
    return sorted(result, key=lambda mutant: mutant.key)


def changed(text, mutant):
    return text[: mutant.start] + mutant.after + text[mutant.end :]


def diff(text, mutant):
    """The lines before and after, as a diff shows them."""
    start = text.rfind("\n", 0, mutant.start) + 1
    end = text.find("\n", mutant.end)
    end = len(text) if end < 0 else end
    old = text[start:end]
    new = text[start : mutant.start] + mutant.after + text[mutant.end : end]
    rows = ["--- %s:%d  (%s, %s)" % (mutant.path, mutant.line, mutant.kind, mutant.key)]
    return "\n".join(rows + ["-" + row for row in old.split("\n")] + ["+" + row for row in new.split("\n")])
