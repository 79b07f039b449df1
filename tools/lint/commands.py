"""Commands and paths in Markdown: each command is run by tests/docs, or stands in commands_not_run.txt with the reason; what it names exists."""

import glob
import os
import re
import subprocess

from tree import FOLDERS, files, lines

_LIST = "tools/lint/commands_not_run.txt"
_COMMAND = re.compile(r"^(ampc|bazel|cd|mpirun|python3|(?:[\w.-]+/)+[\w.-]+)( |$)")
_FLAG = re.compile(r"(?<!\S)--([a-z][a-z-]*)")
_LABEL = re.compile(r"//((?:[\w-]+/)*[\w-]+)(?::([\w.-]+))?(/\.\.\.)?")
_PATH = re.compile(r"`((?:%s)/[\w./*-]+)`" % "|".join(FOLDERS))
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def documents(root):
    return sorted(p for p in os.listdir(root) if p.endswith(".md")) + files(root, (".md",)) + sorted(
        os.path.relpath(p, root) for p in glob.glob(os.path.join(root, "tests/golden/**/*.md"), recursive=True))


def commands(root, path):
    """(line number, kind of block, command without its comment) of each line in a block that is a command."""
    kind = None
    for number, line in enumerate(lines(root, path), 1):
        if line.startswith("```"):
            kind = line[3:].strip() if kind is None else None
        elif kind in ("", "sh", "console"):
            text = line[2:] if line.startswith("$ ") else line
            if (kind == "console") == line.startswith("$ ") and (kind == "console" or _COMMAND.match(text)):
                yield number, kind, re.sub(r"\s+# .*", "", text).strip()


def is_run(path, kind, command):
    of_users = path == "README.md" or path.startswith("tools/docs/")
    return of_users and (command.startswith("ampc ") or kind == "console")


def has_target(root, folder, name):
    build = os.path.join(root, folder, "BUILD")
    return os.path.exists(build) and '"%s"' % name in "\n".join(lines(root, os.path.join(folder, "BUILD")))


def known_flags(root, script):
    """The options of the script: a shell script prints them with --help, which does nothing else."""
    if not script.endswith(".sh"):
        return "\n".join(lines(root, script))
    # With anything installed in this user's home, and without a home, as in tests.
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    asked = subprocess.run(["bash", script, "--help"], cwd=root, capture_output=True, text=True, timeout=60, check=False, env=env)
    return asked.stdout if asked.returncode == 0 else ""


def check_command(root, command):
    for folder, name, below in _LABEL.findall(command):
        if not os.path.isdir(os.path.join(root, folder)) or (not below and not has_target(root, folder, name or os.path.basename(folder))):
            yield "there is no target //%s%s" % (folder, ":" + name if name else "")
    bazelrc = "\n".join(lines(root, ".bazelrc")) if "--config=" in command else ""
    for name in re.findall(r"--config=(\w+)", command):
        if not re.search(r"^\w+:%s\b" % name, bazelrc, re.M):
            yield "there is no --config=%s" % name
    words = command.split()
    if words[0].startswith("bazel-bin/"):
        folder, name = os.path.split(words[0][len("bazel-bin/"):])
        if not has_target(root, folder, name):
            yield "there is no target //%s:%s" % (folder, name)
    elif words[0].startswith(tuple(f + "/" for f in FOLDERS)):
        if not os.access(os.path.join(root, words[0]), os.X_OK):
            yield "there is no program %s" % words[0]
            return
        known = known_flags(root, words[0])
        for flag in _FLAG.findall(command):
            if flag != "config" and "--" + flag not in known:
                yield "%s says nothing of --%s" % (words[0] + (" --help" if words[0].endswith(".sh") else ""), flag)


def check_paths(root, path):
    # Documents below tests name what is there as tests/README.md does, a test by its target.
    folders = ("", "tests") if path.startswith("tests/") else ("",)
    for number, line in enumerate(lines(root, path), 1):
        for name in _PATH.findall(line):
            if not any(glob.glob(os.path.join(root, folder, name + suffix)) for folder in folders for suffix in ("", ".cc")):
                yield "%s:%d: there is no %s" % (path, number, name)
        for name in _LINK.findall(line):
            if not os.path.exists(os.path.join(root, os.path.dirname(path), name)):
                yield "%s:%d: a link leads to %s, which is not there" % (path, number, name)


def check(root):
    problems = []
    reasons = {}
    for number, line in enumerate(lines(root, _LIST) if os.path.exists(os.path.join(root, _LIST)) else [], 1):
        command, _, reason = line.partition("  # ")
        if command and not command.startswith("#"):
            reasons[command] = number
            if not reason.strip():
                problems.append("%s:%d: a reason is needed" % (_LIST, number))
    stale = dict(reasons)
    for path in documents(root):
        problems += check_paths(root, path)
        for number, kind, command in commands(root, path):
            if not is_run(path, kind, command):
                stale.pop(command, None)
                if command not in reasons:
                    problems.append("%s:%d: '%s' is not run by tests/docs and stands not in %s" % (path, number, command, _LIST))
                problems += ["%s:%d: %s" % (path, number, problem) for problem in check_command(root, command)]
    return problems + ["%s:%d: no document has '%s'" % (_LIST, number, command) for command, number in stale.items()]
