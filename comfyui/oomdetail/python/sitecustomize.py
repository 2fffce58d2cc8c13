"""Put beside a server by memtrix (memtrix run --oom-detail); it changes no result.

Python imports a module of this name before anything else. It waits for torch, and lets
torch's own allocator note the Python stack of each allocation (torch.cuda.memory,
https://pytorch.org/docs/stable/torch_cuda_memory.html). When an allocation fails, it
writes what was held into the folder that the server was started in:

    oom-N.json            what was asked for, and the largest allocations by stack
    oom_snapshot.pickle   torch's snapshot of the last one, for pytorch.org/memory_viz

Only torch's native allocator can do that. A fault of this module is written to
oom-detail.txt and never ends the server.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback

FOLDER = os.getcwd()
MOST_FILES = 8
MOST_STACKS = 25
MOST_FRAMES = 16
state = {"ooms": 0}


def note(text):
    try:
        with open(os.path.join(FOLDER, "oom-detail.txt"), "a", encoding="utf-8") as f:
            f.write(text.rstrip() + "\n")
    except OSError:
        pass


def guarded(f, *args):
    try:
        f(*args)
    except Exception:
        note(traceback.format_exc())


def frames_of(block):
    frames = block.get("frames")
    if not frames:  # torch before 2.1
        history = block.get("history") or [{}]
        frames = history[0].get("frames") or []
    return tuple(
        (f.get("filename", "?"), int(f.get("line", 0)), f.get("name", "?")) for f in frames if f.get("filename") != "??"
    )[:MOST_FRAMES]


def largest(snapshot, device):
    """Live blocks by stack, those with the most bytes first."""
    stacks, held, blocks, reserved = {}, 0, 0, 0
    for segment in snapshot.get("segments", []):
        if segment.get("device", device) != device:
            continue
        reserved += segment.get("total_size", 0)
        for block in segment.get("blocks", []):
            if block.get("state") != "active_allocated":
                continue
            size = block.get("size", 0)
            held, blocks = held + size, blocks + 1
            entry = stacks.setdefault(frames_of(block), [0, 0])
            entry[0] += size
            entry[1] += 1
    ranked = sorted(stacks.items(), key=lambda kv: -kv[1][0])[:MOST_STACKS]
    top = [
        {"bytes": size, "count": count, "frames": [{"file": f, "line": l, "name": n} for f, l, n in frames]}
        for frames, (size, count) in ranked
    ]
    return {"held": held, "blocks": blocks, "reserved": reserved, "top": top}


def here():
    """The Python stack of the allocation that failed, innermost first."""
    frame, found = sys._getframe(), []
    while frame is not None and len(found) < MOST_FRAMES:
        code = frame.f_code
        if code.co_filename != __file__:
            found.append({"file": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return found


def write(torch, device, asked, device_total, device_free):
    state["ooms"] += 1
    n = state["ooms"]
    if n > MOST_FILES:
        return
    snapshot = torch.cuda.memory._snapshot()
    doc = {
        "number": n,
        "device": device,
        "asked": asked,
        "device_total": device_total,
        "device_free": device_free,
        "frames": here(),
    }
    doc.update(largest(snapshot, device))
    with open(os.path.join(FOLDER, "oom-%d.json" % n), "w", encoding="utf-8") as f:
        json.dump(doc, f)
    import pickle

    with open(os.path.join(FOLDER, "oom_snapshot.pickle"), "wb") as f:
        pickle.dump(snapshot, f)


def begin(torch):
    torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=100000)
    attach = torch._C._cuda_attach_out_of_memory_observer
    attach(lambda device, asked, total, free: guarded(write, torch, device, asked, total, free))
    note("recording")


def prepare(torch):
    # Not before CUDA is made ready: ComfyUI chooses the device and the allocator first.
    torch.cuda._lazy_call(lambda: guarded(begin, torch))


class AfterTorch:
    """A finder that finds torch as the others do, and looks in when it has been loaded."""

    busy = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            guarded(prepare, module)

        spec.loader.exec_module = exec_module
        return spec


def next_of_this_name():
    """Run the sitecustomize that this one hides, where there is one."""
    own = os.path.dirname(os.path.abspath(__file__))
    rest = [p for p in sys.path if os.path.abspath(p or ".") != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, AfterTorch())
guarded(next_of_this_name)
