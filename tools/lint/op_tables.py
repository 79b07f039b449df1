"""Facts of an op stand in its record: a table of ops elsewhere is one place more to forget.

A table is an initialiser with the names of four ops or more among its strings, of a variable, a call or a loop, or one statement that compares with four. graph, passes and runtime have none, and in kernels an op stands in one table for
each device, which binds its kernel. Lists of other systems are data of their formats and policies. tools/lint/op_tables_allow.txt names the tables that are something else: a line `path name  # reason`.
"""

import os
import re

from tree import files, lines

_PAGE = "tools/docs/how_to_add_an_op.md"
_ALLOWED = "tools/lint/op_tables_allow.txt"
_DATA = ("graph/formats/", "passes/amp/policy/", "passes/analysis/runtimes.cc")
_START = re.compile(r"(\w+)(?:\[[^\]]*\])?\s*(?:=|=\s*new\s[\w:<>*,\s]+\(|\(|:)\s*\{")
_COMPARED = re.compile(r'==\s*"([^"\n]*)"')
_STRING = re.compile(r'R"\((.*?)\)"|"([^"\n]*)"', re.S)
_FEWEST = 4


def op_names(root):
    """The names of all ops and gradient ops: CAllreduceSum of all_ops.inc is c_allreduce_sum."""
    names = set()
    for line in lines(root, "graph/ops/all_ops.inc"):
        listed = re.match(r"AMPC_OP\((\w+)\)", line)
        if listed:
            words = re.sub(r"(?<!^)(?<!\d)([A-Z])|(?<=\d)([A-Z](?=[a-z]))", r"_\1\2", listed.group(1))
            names |= {words.lower(), words.lower() + "_grad"}
    return names


def tables(text, names):
    """Name and ops of each table in the text of a source: the first string of each row, the strings of a plain list, and the words of texts."""
    text = re.sub(r"//[^\n]*", "", text)
    for start in _START.finditer(text):
        depth, end, words, last = 1, start.end(), [], "{"
        while end < len(text) and depth:
            string = _STRING.match(text, end)
            if string:
                said = (string.group(1) or string.group(2) or "").split()
                words += said if len(said) > 1 or depth == 1 or last == "{" else []
                end, last = string.end(), "\""
                continue
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            last = last if text[end].isspace() else text[end]
            end += 1
        found = set(words) & names
        if len(found) >= _FEWEST:
            yield start.group(1), found
    for statement in re.split(r"[;{}]", text):
        found = set(_COMPARED.findall(statement)) & names
        if len(found) >= _FEWEST:
            yield "==", found


def _scope(path):
    return "kernels/cuda" if path.startswith("kernels/cuda/") else path.split("/")[0]


def _allowed(root):
    where = os.path.join(root, _ALLOWED)
    return {tuple(line.split("#")[0].split()) for line in lines(root, _ALLOWED) if line.split("#")[0].strip()} if os.path.exists(where) else set()


def check_page(root):
    """The page names every file of the compiler that knows its op, and no more than six with the tests."""
    if not os.path.exists(os.path.join(root, _PAGE)):
        return
    quoted = re.findall(r"^```\w+ file=(\S+)$", "\n".join(lines(root, _PAGE)), re.M)
    op = os.path.basename(quoted[0])[: -len(".cc")]
    word = re.compile(r"\b%s(_grad)?\b|\b%s" % (op, "".join(part.capitalize() for part in op.split("_"))))
    shown = {path for path in quoted if any(word.search(line) for line in lines(root, path))}
    for path in files(root, (".cc", ".h", ".inc", ".cu"), ("graph", "passes", "kernels", "runtime")):
        if path in shown or path.startswith(_DATA + ("graph/ops/onnx/",)):
            continue
        if any(word.search(re.sub("//.*", "", line)) for line in lines(root, path)):
            yield "%s: %s knows %s, too" % (_PAGE, path, op)
    if len(shown) > 6:
        yield "%s: %s stands in %d files, needs at most 6" % (_PAGE, op, len(shown))


def check(root):
    if not os.path.exists(os.path.join(root, "graph/ops/all_ops.inc")):
        return []
    names, allowed, used, problems, seen = op_names(root), _allowed(root), set(), [], {}
    for path in files(root, (".cc", ".h", ".inc", ".cu"), ("graph", "passes", "kernels", "runtime")):
        if path.startswith(_DATA):
            continue
        for table, ops in tables("\n".join(lines(root, path)), names):
            if (path, table) in allowed:
                used.add((path, table))
                continue
            scope = _scope(path)
            if scope in ("graph", "passes", "runtime"):
                problems.append("%s: %s is a table of ops (%s): what it says belongs into their records" % (path, table, ", ".join(sorted(ops)[:3])))
            for op in sorted(ops):
                first = seen.setdefault((scope, op), (path, table))
                if first != (path, table):
                    problems.append("%s: %s has op %s, which stands in %s of %s" % (path, table, op, first[1], first[0]))
    problems += check_page(root)
    problems += ["%s: %s %s is no table of ops" % (_ALLOWED, path, table) for path, table in sorted(allowed - used)]
    return problems
