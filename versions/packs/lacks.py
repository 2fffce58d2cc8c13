import importlib.metadata as metadata
import json
import re
import sys

# Which of the requirements on standard input (a JSON list) this interpreter's
# packages do not meet: a JSON list of texts.
try:
    from packaging.requirements import InvalidRequirement, Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    except ImportError:
        Requirement = None


def lack(line):
    if line.startswith("-") or "://" in line.split("@", 1)[0] or line[:1] in "./":
        return None  # an option, a URL or a path: it names no package
    name, specifier = line, None
    if Requirement:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            return None
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            return None
        name, specifier = wanted.name, wanted.specifier
    else:
        m = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
        if not m or ";" in line:
            return None
        name = m.group(0)
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return "%s is not installed" % line
    if specifier and not specifier.contains(version, prereleases=True):
        return "%s is wanted and %s is installed" % (line, version)
    return None


json.dump([x for x in map(lack, json.load(sys.stdin)) if x], sys.stdout)
