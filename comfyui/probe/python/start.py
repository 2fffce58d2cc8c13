"""Starts a ComfyUI with memtrix's probe in it: python start.py main.py [flags].

What main.py sees is what it would see without: its own name and flags in
sys.argv, its own folder first in sys.path, itself as __main__. Should the probe
fail, main.py runs all the same.
"""

import os
import sys


def _install():
    own = os.path.dirname(os.path.abspath(__file__))
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # the folder is new with each trial
    sys.path.insert(0, own)
    try:
        import memtrix_probe
        memtrix_probe.install()
    except Exception as error:
        print(f"memtrix: the probe does not run: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.path.remove(own)
        sys.dont_write_bytecode = written


def _main():
    safe = getattr(sys.flags, "safe_path", False)
    if not safe and sys.path:
        del sys.path[0]  # the folder of this file
    _install()
    main = sys.argv[1]
    del sys.argv[0]
    if not safe:
        sys.path.insert(0, os.path.dirname(os.path.realpath(main)))
    with open(main, "rb") as f:
        source = f.read()
    module = sys.modules["__main__"].__dict__
    for name in [n for n in module if not n.startswith("__")]:
        del module[name]
    module["__file__"] = main
    module["__doc__"] = None
    return compile(source, main, "exec", dont_inherit=True), module


if __name__ == "__main__":
    exec(*_main())
