"""Writes stand-ins for the models of this report: files with the real names, shapes
and types of all tensors, and zeros for weights. They load as the real ones do, and
take next to no disk where the file system has sparse files. Only Python is needed.

    python make_models.py path/to/ComfyUI/models

A file that is there already is left alone.
"""
import base64
import json
import os
import sys


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    root, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "standins", "index.json"), encoding="utf-8") as f:
        models = json.load(f)
    for m in models:
        path = os.path.join(root, m["folder"], *m["name"].split("/"))
        if os.path.lexists(path):
            print("left alone:", path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.path.join(here, *m["head"].split("/")), "rb") as f:
            head = f.read()
        with open(path, "xb") as f:
            f.write(head)
            f.truncate(m["bytes"])
            for at, data in m.get("parts", []):
                f.seek(at)
                f.write(base64.b64decode(data))
        print("wrote:", path, "(%s, %.2f GiB)" % (m["about"], m["bytes"] / 2**30))


main()
