"""Counts test cases from Bazel's build event file and prints "N passed, N failed[, N skipped]".

Usage: count_tests.py EVENTS.json. A target that did not build, or a test that died before it wrote its report, is one failure.
Exit status 0 if nothing failed and something passed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ET


def count_cases(path):
    """(passed, failed, skipped) of one test.xml, as GoogleTest or Bazel writes it."""
    passed = failed = skipped = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def result_counts(result):
    """Counts of one run of one test target."""
    xml = [o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.xml"]
    counts = (0, 0, 0)
    if xml:
        try:
            counts = count_cases(urllib.parse.unquote(urllib.parse.urlparse(xml[0]).path))
        except (OSError, ET.ParseError):
            pass
    passed, failed, skipped = counts
    if result.get("status") != "PASSED" and failed == 0:
        failed = 1  # Timed out, crashed, or failed outside a test case.
    if result.get("status") == "PASSED" and sum(counts) == 0:
        passed = 1  # Reports nothing by itself.
    return passed, failed, skipped


def main(events_path):
    runs = {}  # (label, shard, run) -> counts; a later attempt replaces an earlier one.
    broken = set()
    with open(events_path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            ident = event["id"]
            if "testResult" in ident:
                key = ident["testResult"]
                runs[key["label"], key.get("shard", 0), key.get("run", 0)] = result_counts(event.get("testResult", {}))  # Without: aborted.
            elif "targetCompleted" in ident and not event.get("completed", {}).get("success", False):
                if event.get("aborted", {}).get("reason") != "SKIPPED":  # Not meant for this configuration.
                    broken.add(ident["targetCompleted"]["label"])
            elif "pattern" in ident and "aborted" in event:
                broken.add(" ".join(ident["pattern"]["pattern"]))
    broken -= {label for label, _, _ in runs}
    for label in sorted(broken):
        print("did not build: %s" % label)
    for label in sorted({label for (label, _, _), counts in runs.items() if counts[1]}):
        print("failed: %s" % label)
    passed, failed, skipped = (sum(c[i] for c in runs.values()) for i in range(3))
    failed += len(broken)
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
