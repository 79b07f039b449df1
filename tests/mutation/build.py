"""Bazel's facts about the tests: how each source is compiled, what each binary is linked from, and what each test runs. Asked once, then kept."""

import collections
import json
import os
import re
import subprocess

# Not run: what needs a device or the network, what another configuration has, what checks the text of the tree, and the tests of the tools beside this one.
_LEFT_OUT = "manual|gpu|lint|external"

_PARTS = 6  # of each of Bazel's shards


class Build:
    """The result of `ask`.

    compiles: {unit: arguments}, a unit being what the compiler is given; unit_of: {source: its unit}, a unit of several sources joined or the source itself;
    archives: {archive: objects in it}; links: {binary: arguments}; tests: {label: {binary, args, data: binaries that it starts, shards}}.
    A test of several shards is many tests, LABEL#1/12 and so on: of a long test only the part runs that comes to a mutant's place.
    """

    def __init__(self, facts):
        self.execroot = facts["execroot"]
        self.compiles = facts["compiles"]
        self.unit_of = facts["unit_of"]
        self.archives = facts["archives"]
        self.links = facts["links"]
        self.tests = {name: test for label, test in facts["tests"].items() for name in _shards(label, test["shards"])}
        self.headers = facts["headers"]
        self._edges = facts["edges"]
        self._users, self._inputs = {}, {}

    def users(self, source):
        """{label of a test: edges between it and the source}: the tests that depend on it."""
        if source not in self._users:
            start = _label_of(self._edges, source)
            distance, queue = {start: 0}, collections.deque([start])
            while queue:
                label = queue.popleft()
                for user in self._edges.get(label, ()):
                    if user not in distance:
                        distance[user] = distance[label] + 1
                        queue.append(user)
            self._users[source] = {name: distance[name.split("#")[0]] for name in self.tests if name.split("#")[0] in distance}
        return self._users[source]

    def shard(self, label):
        """The variables by which a test runs this part of it only."""
        _, mark, number = label.partition("#")
        if not mark:
            return {}
        part, of = number.split("/")
        return {w + n: v for w in ("TEST_", "GTEST_") for n, v in (("TOTAL_SHARDS", of), ("SHARD_INDEX", str(int(part) - 1)))}

    def output_of(self, source):
        arguments = self.compiles[self.unit_of[source]]
        return arguments[arguments.index("-o") + 1]

    def inputs(self, binary):
        """The objects that a binary is linked from, in archives too."""
        if binary not in self._inputs:
            arguments = self.links.get(binary, ())
            self._inputs[binary] = set(arguments) | {o for a in arguments for o in self.archives.get(a, ())}
        return self._inputs[binary]

    def binaries_with(self, source, label):
        """The binaries that a test runs and that have the source's object in them, its own first."""
        test, output = self.tests[label], self.output_of(source)
        return [binary for binary in [test["binary"]] + test["data"] if output in self.inputs(binary)]


def plant(root, execroot, folder):
    """A folder in which Bazel's commands find their files; in its own, Bazel's next build takes away what it needs not itself."""
    output_base = os.path.dirname(os.path.dirname(execroot))
    links = {name: os.path.join(root, name) for name in os.listdir(root) if os.path.isdir(os.path.join(root, name)) and not name.startswith("bazel-")}
    links.update({"bazel-out": os.path.join(execroot, "bazel-out"), "external": os.path.join(output_base, "external")})
    os.makedirs(folder)
    for name, target in links.items():
        os.symlink(target, os.path.join(folder, name))
    return folder


def _shards(label, count):
    parts = _PARTS * count
    return ["%s#%d/%d" % (label, k + 1, parts) for k in range(parts)] if count > 1 else [label]


def _label_of(edges, source):
    """The label of a source: its package is the folder in whose name the graph has it."""
    package = os.path.dirname(source)
    while package and "//%s:%s" % (package, source[len(package) + 1 :]) not in edges:
        package = os.path.dirname(package)
    return "//%s:%s" % (package, source[len(package) + 1 :])


def _bazel(root, *arguments):
    command = os.environ.get("BAZEL", "bazel").split() + list(arguments)
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def _edges(text):
    """{target: what names it as a dependency} of Bazel's graph in dot's language."""
    users = {}
    for user, target in re.findall(r'^  "([^"]+)" -> "([^"]+)"$', text, re.M):
        users.setdefault(target, []).append(user)
    return users


def _reached(edges_down, label):
    seen, queue = {label}, [label]
    while queue:
        for target in edges_down.get(queue.pop(), ()):
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def _rows(text):
    return [row for row in text.split("\n") if row]


def ask(root, folders, left_out):
    """Builds the tests that depend on sources of the folders, but for the patterns `left_out`, and returns what a Build is made of."""
    sources = " + ".join("//%s/..." % folder if os.path.isdir(os.path.join(root, folder)) else _label(root, folder) for folder in folders)
    out_of_place = ["attr(tags, '%s', //tests/...)" % _LEFT_OUT, "attr(target_compatible_with, 'never', //tests/...)", "//tests/mutation/..."]
    tests = " except ".join(["tests(//tests/...)"] + out_of_place + list(left_out))
    labels = sorted(_rows(_bazel(root, "query", "--noshow_progress", "rdeps(%s, %s) intersect (%s)" % (tests, sources, tests))))
    _bazel(root, "build", "--noshow_progress", "--ui_event_filters=-info", *labels)
    info = dict(row.split(": ", 1) for row in _rows(_bazel(root, "info", "execution_root", "bazel-bin")))
    execroot, out = info["execution_root"], os.path.relpath(info["bazel-bin"], info["execution_root"]) + "/"
    wanted = "deps(set(%s))" % " ".join(labels)
    graph = _bazel(root, "query", "--noshow_progress", "--noimplicit_deps", "--output=graph", "--nograph:factored", wanted)
    actions = _bazel(root, "aquery", "--noshow_progress", "--ui_event_filters=-info", "--output=jsonproto",
                     "mnemonic('CppCompile|CppLink|CppArchive|TestRunner', %s)" % wanted)  # fmt: skip
    facts = {name: {} for name in ("compiles", "unit_of", "archives", "links", "tests")}
    facts.update(execroot=execroot, edges=_edges(graph))
    for action in json.loads(actions)["actions"]:
        _add_action(facts, action["mnemonic"], action["arguments"], out)
    facts["tests"] = {label: facts["tests"][label] for label in labels}
    facts["headers"] = [unit for unit, arguments in facts["compiles"].items() if "-xc++-header" in arguments]
    for unit in facts["compiles"]:
        for source in joined_sources(os.path.join(execroot, unit)) or [unit]:
            facts["unit_of"][source] = unit
    _add_data(facts, out)
    return facts


def joined_sources(unit):
    """The sources of a generated unit, by the lines that name them; nothing for any other."""
    if "bazel-out" not in unit or not os.path.exists(unit):
        return []
    with open(unit, encoding="utf-8") as text:
        return re.findall(r'^#line 1 "(.*)"$', text.read(), re.M)


def _label(root, source):
    package = os.path.dirname(source)
    while not os.path.exists(os.path.join(root, package, "BUILD")):
        package = os.path.dirname(package)
    return "//%s:%s" % (package, source[len(package) + 1 :])


def _add_data(facts, out):
    """Which binaries beside its own a test has among its dependencies."""
    down = {}
    for target, users in facts["edges"].items():
        for user in users:
            down.setdefault(user, []).append(target)
    for label, test in facts["tests"].items():
        reached = (out + target[2:].replace(":", "/") for target in _reached(down, label) if target.startswith("//"))
        test["data"] = sorted(binary for binary in reached if binary in facts["links"] and binary != test["binary"])


def _add_action(facts, mnemonic, arguments, out):
    arguments = [a for a in arguments if not a.startswith("@")]  # Bazel names the file and what stands in it
    if mnemonic == "TestRunner":
        binary = next(i for i, a in enumerate(arguments) if a.endswith("test-setup.sh")) + 1
        label = "//" + ":".join(os.path.split(arguments[binary]))
        shards = facts["tests"].get(label, {}).get("shards", 0) + 1  # an action for each
        facts["tests"][label] = {"binary": out + arguments[binary], "args": arguments[binary + 1 :], "shards": shards}
    elif mnemonic == "CppCompile":
        if "-c" in arguments and arguments[arguments.index("-o") + 1].startswith(out):
            facts["compiles"][arguments[arguments.index("-c") + 1]] = arguments
    elif "-o" in arguments and arguments[arguments.index("-o") + 1].startswith(out):
        facts["links"][arguments[arguments.index("-o") + 1]] = arguments
    elif len(arguments) > 2 and arguments[2].startswith(out):  # ar rcsD ARCHIVE OBJECT...
        facts["archives"][arguments[2]] = arguments[3:]
