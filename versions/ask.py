import enum
import json
import os
import sys

# "-c" puts the current folder first on the path; nothing of it is wanted.
if sys.path and sys.path[0] == "":
    del sys.path[0]
out = sys.stdout
sys.stdout = sys.stderr
said = {"version": list(sys.version_info[:3])}


def packages():
    import importlib.metadata as metadata
    found = {}
    for dist in metadata.distributions():
        try:
            name, version = dist.metadata["Name"], dist.version
        except Exception:
            continue
        # The first one on the path is the one that is imported.
        if name and version:
            found.setdefault(name.lower(), version)
    return found


def flags(tree):
    # comfy/cli_args.py builds its parser at import and needs only the standard
    # library; without enable_args_parsing() it does not look at our arguments.
    sys.argv = ["main.py"]
    sys.path.insert(0, tree)
    from comfy.cli_args import parser
    known = {s for a in parser._actions for s in a.option_strings if s.startswith("--")}
    # Features that a flag takes by name (--fast=autotune) come and go like flags.
    for a in parser._actions:
        if isinstance(a.type, type) and issubclass(a.type, enum.Enum):
            known |= {"%s=%s" % (s, e.value) for s in a.option_strings for e in a.type}
    return sorted(known)


if sys.version_info >= (3, 9):
    said["packages"] = packages()
    try:
        said["flags"] = flags(sys.argv[1])
    except BaseException as e:
        said["flags_error"] = "%s: %s" % (type(e).__name__, e)
out.write(json.dumps(said))
out.flush()
os._exit(0)
