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


# Packages whose files decide what memory is taken: a changed file matters here.
HASHED = {"torch", "torchvision", "torchaudio", "triton", "xformers", "sageattention", "flash-attn"}
HASHED_PREFIXES = ("comfy-", "nvidia-", "cuda-", "pytorch-", "triton-", "intel-")
# An installer writes these itself, each in its own way.
OF_INSTALLERS = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"}
REHASH_LIMIT = 512 << 20


def contents():
    """Of each of those packages: a hash of what its RECORD lists (path, hash and
    size of each file), and the files that are not as listed. A file is read
    again where its size or a time after that of RECORD makes it suspicious."""
    import importlib.metadata as metadata
    found = {}
    for dist in metadata.distributions():
        try:
            name = dist.metadata["Name"].lower().replace("_", "-")
            if name in found or not (name in HASHED or name.startswith(HASHED_PREFIXES)):
                continue
            record = dist.read_text("RECORD")
            if record:
                found[name] = content(dist, record)
        except Exception:
            continue
    return found


def content(dist, record):
    import csv
    import hashlib
    root = str(dist.locate_file(""))
    listed, changed, budget = [], [], REHASH_LIMIT
    rows = [r for r in csv.reader(record.splitlines()) if len(r) == 3]
    of_record = [r[0] for r in rows if r[0].endswith(".dist-info/RECORD")]
    installed = os.stat(os.path.join(root, of_record[0])).st_mtime if of_record else float("inf")
    for path, digest, size in rows:
        # Programs in bin are made for the environment that they lie in.
        if not digest or path.startswith("..") or path.endswith(".pyc") or os.path.basename(path) in OF_INSTALLERS:
            continue
        listed.append("%s %s %s\n" % (path, digest, size))
        full = os.path.join(root, path)
        try:
            stat = os.stat(full)
        except OSError:
            changed.append("deleted: " + path)
            continue
        if size and stat.st_size != int(size):
            changed.append(path)
        elif stat.st_mtime > installed + 2 and stat.st_size <= budget:
            budget -= stat.st_size
            if not same(full, digest):
                changed.append(path)
    listed.sort()
    return {"hash": hashlib.sha256("".join(listed).encode()).hexdigest()[:16], "changed": changed}


def same(path, digest):
    import base64
    import hashlib
    algorithm, _, want = digest.partition("=")
    h = hashlib.new(algorithm)
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return base64.urlsafe_b64encode(h.digest()).rstrip(b"=").decode() == want.rstrip("=")


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
    said["contents"] = contents()
    try:
        said["flags"] = flags(sys.argv[1])
    except BaseException as e:
        said["flags_error"] = "%s: %s" % (type(e).__name__, e)
out.write(json.dumps(said))
out.flush()
os._exit(0)
