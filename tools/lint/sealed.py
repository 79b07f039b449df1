"""Lists that grow with every op, kernel, pass or format (all_*.inc, families.inc) are given to few compile actions: the target that has one is a
sealed_library, or is depended on through link_only alone (tools/bazel/link_only.bzl)."""

import os
import re

from tree import files, lines

_FOLDERS = ("graph", "passes", "kernels", "runtime")
_LIST = re.compile(r'"(?:all_\w+|families)\.inc"')
_RULE = re.compile(r'^(\w+)\(\n    name = "([\w.-]+)",\n(.*?)^\)', re.M | re.S)
_LABEL = re.compile(r'"(//[\w/-]+)?(?::([\w.-]+))?"')


def _rules(root):
    """{label: (kind, text)} of the rules of the BUILD files."""
    rules = {}
    for path in files(root, ("BUILD",), _FOLDERS):
        for kind, name, text in _RULE.findall("\n".join(lines(root, path))):
            rules["//%s:%s" % (os.path.dirname(path), name)] = (kind, text)
    return rules


def _labels(package, text):
    for folder, name in _LABEL.findall(text):
        if folder or name:
            folder = folder or "//" + package
            yield "%s:%s" % (folder, name or os.path.basename(folder))


def check(root):
    rules = _rules(root)
    readers = {}
    for label, (kind, text) in rules.items():
        for dep in _labels(label[2:].split(":")[0], text):
            readers.setdefault(dep, []).append(label)
    problems, open_ones = [], []
    for label, (kind, text) in rules.items():
        lists = re.search(r"textual_hdrs = \[(.*?)\]", text, re.S)
        if lists and _LIST.search(lists.group(1)) and kind != "sealed_library":
            open_ones.append((label, label))
    seen = set()
    while open_ones:
        owner, label = open_ones.pop()
        for reader in readers.get(label, []):
            if rules[reader][0] in ("link_only", "sealed_library", "filegroup") or (owner, reader) in seen:
                continue
            seen.add((owner, reader))
            if not any(rules[r][0] == "link_only" for r in readers.get(reader, [])) or len(readers[reader]) > 1:
                problems.append("%s: %s sees the list of %s; link_only or sealed_library hides it" % (label[2:].split(":")[0] + "/BUILD", reader, owner))
            else:
                open_ones.append((owner, reader))
    return problems
