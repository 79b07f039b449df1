#!/usr/bin/env python3
"""Of the compile actions of a target, how many are given a file: header_reach.py TARGET FILE...

A cache finds an action by all the files that it is given, read or not; so many are compiled again after a change of the file where nothing was built before.
"""

import collections
import json
import subprocess
import sys

_HEADERS = ("str(target.label) + ' ' + ' '.join([f.path for f in providers(target)['CcInfo'].compilation_context.headers.to_list()])"
            " if providers(target) and 'CcInfo' in providers(target) else ''")


def bazel(*words):
    return subprocess.run(["bazel", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def main(target, files):
    headers = {}
    for line in bazel("cquery", "kind('cc_.* rule', deps(%s))" % target, "--output=starlark", "--starlark:expr=" + _HEADERS).split("\n"):
        label, *paths = line.split() or [""]
        headers[label.lstrip("@")] = set(paths)
    found = json.loads(bazel("aquery", "mnemonic('CppCompile', deps(%s))" % target, "--output=jsonproto"))
    labels = {t["id"]: t["label"].lstrip("@") for t in found["targets"]}
    actions = collections.Counter(labels[action["targetId"]] for action in found["actions"])
    print("%d compile actions of %s" % (sum(actions.values()), target))
    for path in files:
        print("%5d  %s" % (sum(count for label, count in actions.items() if path in headers.get(label, ())), path))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
