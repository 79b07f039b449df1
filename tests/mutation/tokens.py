"""C++ sources as tokens and statements, as far as clang-format's layout tells them; nothing is parsed."""

import re
from collections import namedtuple

# `in_type`: between the angle brackets of a template.  `inside`: the innermost open bracket, one of "(", "[", "list", "code", or "" in no bracket.
Token = namedtuple("Token", "text start end in_type inside")
# first, last: indices of a statement's first token and of its semicolon.
Statement = namedtuple("Statement", "first last")

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<raw>(?:u8|u|U|L)?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|u|U|L)?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
      |(?P<number>\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)
      |(?P<word>[A-Za-z_]\w*)
      |(?P<sign>\.\.\.|<<=|>>=|<=>|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.S | re.X,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_CLOSES = {")": "(", "]": "[", "}": "{"}


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def raw_tokens(text):
    text = _DIRECTIVE.sub(_blank, text)
    return [(m.group(0), m.start(), m.end()) for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]


def _template_arguments(raw):
    """Indices of what stands between a template's angle brackets: such a < follows its name without a blank, or `template`."""
    inside = set()
    for i in range(1, len(raw)):
        before, (text, start, _) = raw[i - 1], raw[i]
        if text != "<" or not (before[0] == "template" or (re.match(r"\w", before[0]) and before[2] == start)):
            continue
        depth = 0
        for j in range(i, min(i + 200, len(raw))):
            depth += {"<": 1, ">": -1, ">>": -2}.get(raw[j][0], 0)
            inside.add(j)
            if depth <= 0 or raw[j][0] in (";", "{"):
                break
    return inside


def _opens_list(raw, i, inside):
    """Whether the { at `i` starts an initialiser: code has a blank or the end of the line behind its brace, and no such token before."""
    before = raw[i - 1][0] if i else ""
    if i + 1 < len(raw) and raw[i + 1][1] == raw[i][2]:
        return raw[i + 1][0] != "}" or before not in (")", "const", "override", "noexcept", "else")
    return before in ("=", "(", ",", "return", "[") or (before == "{" and inside == "list")


def tokens(text):
    raw = raw_tokens(text)
    types = _template_arguments(raw)
    open_, result = [], []
    for i, (word, start, end) in enumerate(raw):
        if word in _CLOSES and open_:
            open_.pop()
        inside = open_[-1] if open_ else ""
        result.append(Token(word, start, end, i in types, inside))
        if word in "([":
            open_.append(word)
        elif word == "{":
            open_.append("list" if _opens_list(raw, i, inside) else "code")
    return result


def statements(found):
    """The statements without a block in them that stand directly in a block of code."""
    result, first = [], 0
    for i, token in enumerate(found):
        brace_of_code = token.text in "{}" and (
            token.text == "}" and token.inside in ("code", "") and not _closes_list(found, i) or token.text == "{" and is_code(found, i)
        )
        if token.text == ";" and token.inside == "code":
            if first is not None and first < i:
                result.append(Statement(first, i))
            first = i + 1
        elif brace_of_code:
            first = i + 1 if token.text == "{" or token.inside in ("code", "") else None
        elif token.text in ("else", "do") or (token.text == ":" and _is_label(found, first, i)):
            first = i + 1
        elif token.text == ")" and first is not None and found[first].text in ("if", "for", "while", "switch") and _closes_head(found, first, i):
            first = i + 1
    return result


def is_code(found, i):
    return i + 1 < len(found) and found[i + 1].inside == "code" or (i + 1 < len(found) and found[i + 1].text == "}" and found[i].inside != "list")


def _closes_list(found, i):
    depth = 0
    for j in range(i, -1, -1):
        depth += {"}": 1, "{": -1}.get(found[j].text, 0)
        if depth == 0:
            return not is_code(found, j)
    return False


def _is_label(found, first, i):
    return first is not None and first < i and (found[first].text == "case" or (found[first].text == "default" and first + 1 == i))


def _closes_head(found, first, i):
    """Whether the ) at `i` closes the parenthesis behind the `if` at `first` (`if constexpr` too)."""
    depth = 0
    for j in range(first, i + 1):
        depth += {"(": 1, ")": -1}.get(found[j].text, 0)
        if depth == 0 and found[j].text == ")":
            return j == i
    return False
