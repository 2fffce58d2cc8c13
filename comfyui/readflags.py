import enum
import json
import os
import sys

# "-c" puts the current folder first on the path; nothing of it is wanted.
if sys.path and sys.path[0] == "":
    del sys.path[0]
out = sys.stdout
sys.stdout = sys.stderr
tree = sys.argv[1]
sys.argv = ["main.py"]
sys.path.insert(0, tree)
sys.dont_write_bytecode = True
# Without enable_args_parsing() the module does not look at our arguments.
from comfy.cli_args import parser


def plain(value):
    if isinstance(value, enum.Enum):
        return value.value
    return str(value)


def kind(action):
    name = type(action).__name__.strip("_")
    return name[:-len("Action")] if name.endswith("Action") else name


def word(value):
    return value.value if isinstance(value, enum.Enum) else value


flags = []
for action in parser._actions:
    if kind(action) == "Help" or not action.option_strings:
        continue
    groups = [i for i, g in enumerate(parser._mutually_exclusive_groups) if action in g._group_actions]
    flags.append({
        "choices": None if action.choices is None else [str(word(c)) for c in action.choices],
        "const": word(action.const),
        "default": word(action.default),
        "dest": action.dest,
        "group": groups[0] if groups else None,
        "kind": kind(action),
        "names": list(action.option_strings),
        "nargs": action.nargs,
        "type": None if action.type is None else getattr(action.type, "__name__", str(action.type)),
    })
out.write(json.dumps(flags, sort_keys=True, default=plain))
out.flush()
os._exit(0)
