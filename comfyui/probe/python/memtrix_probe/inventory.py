"""What holds memory in a server at rest.

Tensors are found by a walk through all objects that Python's collector knows; a
storage that several tensors share counts once. Who owns one is told in this order:
a model that is loaded, the cache of node outputs, another torch module, else what
refers to it (a class, a module's global name, a function's frame), at most three
steps away. Objects that C code alone holds are not seen. Garbage is collected first:
what only a cycle holds is nobody's.
"""

import ctypes
import gc
import sys
import types

from . import channel, hooks, readings

MOST_CHASED = 2000  # storages without a known owner of which referrers are looked for
LEVELS = 3


class Storage:
    """One piece of memory with the tensors that look at it."""

    __slots__ = ("size", "device", "pinned", "tensors", "owner")

    def __init__(self, size, device, pinned):
        self.size, self.device, self.pinned = size, device, pinned
        self.tensors, self.owner = [], None


def take(top, trim):
    """All parts. One that fails is left out and counted as a fault."""
    begun = channel.now()
    result = {"t0": begun}
    before = readings.full()
    tensors = hooks.guard("inventory: tensors", _tensors, top)
    if tensors is not None:
        result.update(tensors)
    for name, part in (("malloc", lambda: _malloc(trim)), ("status", _status), ("gc", _gc)):
        found = hooks.guard("inventory: " + name, part)
        if found is not None:
            result[name] = found
    result["v"] = before
    result["m"] = readings.models()
    result["t1"] = channel.now()
    return result


def _tensors(top):
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    gc.collect()
    objects = gc.get_objects()
    storages, by_tensor = {}, {}
    for o in objects:
        # type() and not isinstance: __class__ may be anything's property.
        if issubclass(type(o), torch.Tensor):
            hooks.guard("inventory: tensor", _add, storages, by_tensor, o)
    _weights(by_tensor)
    cache = hooks.guard("inventory: node cache", _cache, torch, by_tensor) or {}
    _modules(torch, objects, by_tensor)
    del objects
    hooks.guard("inventory: referrers", _chase, [s for s in storages.values() if s.owner is None])
    result = {"cpu": _summary(storages, "cpu", top), "cache": cache}
    devices = sorted({s.device for s in storages.values()} - {"cpu"})
    result["devices"] = {d: _summary(storages, d, top) for d in devices}
    pinned = [s.size for s in storages.values() if s.pinned]
    result["pinned"] = {"bytes": sum(pinned), "count": len(pinned)}
    for s in storages.values():
        s.tensors = None  # no cycle is left behind
    return result


def _add(storages, by_tensor, tensor):
    if tensor.device.type == "meta" or tensor.layout != sys.modules["torch"].strided:
        return
    store = tensor.untyped_storage()
    address, size = store.data_ptr(), store.nbytes()
    if not address or not size:
        return
    key = (str(tensor.device.type), address)
    found = storages.get(key)
    if found is None or found.size < size:
        pinned = key[0] == "cpu" and readings.accelerator() is not None and bool(tensor.is_pinned())
        new = Storage(size, key[0], pinned)
        if found is not None:
            new.tensors = found.tensors
            for t in new.tensors:
                by_tensor[id(t)] = new
        storages[key] = found = new
    found.tensors.append(tensor)
    by_tensor[id(tensor)] = found


def _own(by_tensor, tensor, owner):
    found = by_tensor.get(id(tensor))
    if found is not None and found.owner is None:
        found.owner = owner


def _weights(by_tensor):
    mm = readings.management()
    for loaded in list(getattr(mm, "current_loaded_models", ())):
        patcher = loaded.model
        real = getattr(patcher, "model", None)
        if real is None or not hasattr(real, "modules"):
            continue
        name = "model " + type(real).__name__
        for m in real.modules():
            _own_module(by_tensor, m, name)
        for held in ("backup", "backup_buffers"):
            for value in list(getattr(patcher, held, {}).values()):
                _own(by_tensor, getattr(value, "weight", value), name)


def _own_module(by_tensor, module, name):
    held = module.__dict__
    for group in ("_parameters", "_buffers"):
        for tensor in list(held.get(group, {}).values()):
            if tensor is not None:
                _own(by_tensor, tensor, name)
    pin = held.get("_pin")
    if pin is not None:
        _own(by_tensor, pin, name + " (pinned)")


def _cache(torch, by_tensor):
    """Entries and bytes of the cache of node outputs, its parts for subgraphs too."""
    live = readings.cache() if readings.cache is not None else None
    if live is None:
        return None
    result = {"entries": 0, "cpu": 0, "other": 0}
    seen, stack = set(), []
    caches = [live]
    while caches:
        c = caches.pop()
        caches.extend(list(getattr(c, "subcaches", {}).values()))
        held = getattr(c, "cache", None) or {}
        result["entries"] += len(held)
        stack.extend(list(held.values()))
    while stack:
        o = stack.pop()
        if id(o) in seen:
            continue
        seen.add(id(o))
        if issubclass(type(o), torch.Tensor):
            store = by_tensor.get(id(o))
            if store is not None and ("s", id(store)) not in seen:
                seen.add(("s", id(store)))
                result["cpu" if store.device == "cpu" else "other"] += store.size
                _own(by_tensor, o, "node cache")
        elif isinstance(o, dict):
            stack.extend(list(o.values()))
        elif isinstance(o, (list, tuple, set)):
            stack.extend(list(o))
    return result


def _modules(torch, objects, by_tensor):
    for o in objects:
        if issubclass(type(o), torch.nn.Module):
            hooks.guard("inventory: module", _own_module, by_tensor, o, "module " + _type_name(type(o)))


def _type_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def _chase(orphans):
    """Owners by referrers, some steps up: one walk through the heap for each level."""
    orphans.sort(key=lambda s: -s.size)
    for s in orphans[MOST_CHASED:]:
        s.owner = "not looked for"
    orphans = orphans[:MOST_CHASED]
    mine = {id(orphans)}
    goals = {}  # id of an object -> storages that it leads to
    level = []
    for s in orphans:
        mine.add(id(s))
        mine.add(id(s.tensors))
        for t in s.tensors:
            goals.setdefault(id(t), []).append(s)
            level.append(t)
    for _ in range(LEVELS):
        if not level:
            break
        mine.add(id(level))
        found = gc.get_referrers(*level)
        mine.add(id(found))
        above, next_goals = [], {}
        for r in found:
            if id(r) in mine or issubclass(type(r), (Storage, types.FrameType)) and _ours(r):
                continue
            reached = [(o, goals[id(o)]) for o in gc.get_referents(r) if id(o) in goals]
            for o, stores in reached:
                owner = _name_of(r, o)
                for s in stores:
                    if s.owner is not None:
                        continue
                    if owner is not None:
                        s.owner = owner
                    else:
                        next_goals.setdefault(id(r), []).append(s)
            if id(r) in next_goals:
                above.append(r)
        level, goals = above, next_goals
    for s in orphans:
        if s.owner is None:
            s.owner = "unknown"


def _ours(r):
    return isinstance(r, Storage) or r.f_globals.get("__package__") == __package__


def _name_of(referrer, target):
    """A name for people, or None where one must look further up."""
    if isinstance(referrer, dict):
        if "__name__" in referrer and "__spec__" in referrer:
            names = [k for k, v in list(referrer.items()) if v is target]
            return f"global {referrer['__name__']}.{names[0] if names else '?'}"
        return None
    if isinstance(referrer, (list, tuple, set, types.CellType)):
        return None
    if isinstance(referrer, types.FrameType):
        return f"running {referrer.f_globals.get('__name__', '?')}.{referrer.f_code.co_name}"
    if isinstance(referrer, types.FunctionType):
        return f"function {referrer.__module__}.{referrer.__qualname__}"
    if isinstance(referrer, type):
        return f"class {_type_name(referrer)}"
    if isinstance(referrer, types.ModuleType):
        return f"module {referrer.__name__}"
    torch = sys.modules["torch"]
    if issubclass(type(referrer), torch.Tensor):
        return None  # a view's base, a gradient
    return _type_name(type(referrer))


def _summary(storages, device, top):
    owners, total, count = {}, 0, 0
    for s in storages.values():
        if s.device != device:
            continue
        total, count = total + s.size, count + 1
        o = owners.setdefault(s.owner or "unknown", [0, 0])
        o[0], o[1] = o[0] + s.size, o[1] + 1
    ranked = sorted(owners.items(), key=lambda kv: -kv[1][0])
    return {"bytes": total, "count": count,
            "owners": [{"name": channel.text(name), "bytes": b, "count": n} for name, (b, n) in ranked[:top]]}


_MALLINFO2 = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Mallinfo2(ctypes.Structure):
    """mallinfo(3); glibc 2.33 and later."""

    _fields_ = [(name, ctypes.c_size_t) for name in _MALLINFO2]


def _malloc(trim):
    libc = ctypes.CDLL(None)
    info = getattr(libc, "mallinfo2", None)
    if info is None:
        return None
    info.restype = _Mallinfo2

    def read():
        i = info()
        return {k: getattr(i, k) for k in ("arena", "hblkhd", "uordblks", "fordblks", "keepcost")}

    result = read()
    if trim:
        rss = readings.process()["rss"]
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
        libc.malloc_trim(0)
        result["trimmed"] = max(0, rss - readings.process()["rss"])
    return result


def _status():
    """Bytes by kind (proc_pid_status(5)): address space, file-mapped, shared ..."""
    wanted = ("VmSize", "VmPeak", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmLck", "VmPin", "VmData", "VmSwap")
    found = {}
    with open("/proc/self/status") as f:
        for line in f:
            name, _, rest = line.partition(":")
            if name in wanted:
                found[name] = int(rest.split()[0]) * 1024
            elif name == "Threads":
                found[name] = int(rest)
    return found


def _gc():
    return {"objects": len(gc.get_objects()), "garbage": len(gc.garbage), "collections": [g["collections"] for g in gc.get_stats()]}
