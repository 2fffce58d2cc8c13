"""The values of a moment. See the package for the keys."""

import os
import sys
import weakref

from . import channel, hooks

_page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_statm = None
_mm = None  # comfy.model_management
_aimdo = None  # comfy_aimdo.control
_vbars = None  # those that live, None where they cannot be followed
_vrambufs = None
_names = {}  # id of a real model -> (weak reference, number)
_count = 0
cache = None  # a weak reference to the cache of node outputs


@hooks.module("comfy.model_management")
def _model_management(module):
    global _mm
    _mm = module
    for name in ("get_free_memory", "get_torch_device"):
        if hooks.need(module, name, "comfy.model_management." + name):
            hooks.report("comfy.model_management." + name)
    for name in ("current_loaded_models", "TOTAL_PINNED_MEMORY"):
        hooks.report("comfy.model_management." + name, "" if hasattr(module, name) else "this version has none of that name")


@hooks.module("comfy_aimdo.control")
def _control(module):
    global _aimdo
    _aimdo = module
    if hooks.need(module, "get_total_vram_usage", "comfy_aimdo.control.get_total_vram_usage"):
        hooks.report("comfy_aimdo.control.get_total_vram_usage")


@hooks.module("comfy_aimdo.model_vbar")
def _model_vbar(module):
    global _vbars
    _vbars = _follow(module, "ModelVBAR", "comfy_aimdo.model_vbar.ModelVBAR")


@hooks.module("comfy_aimdo.vram_buffer")
def _vram_buffer(module):
    global _vrambufs
    _vrambufs = _follow(module, "VRAMBuffer", "comfy_aimdo.vram_buffer.VRAMBuffer")


def _follow(module, name, hook):
    """Weak references to all objects of a class that are made from now on, also
    while the probe is off."""
    cls = getattr(module, name, None)
    if cls is None:
        hooks.report(hook, "this version has none of that name")
        return None
    live = weakref.WeakSet()
    original = cls.__init__

    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        hooks.guard(hook, live.add, self)

    cls.__init__ = __init__
    hooks.report(hook)
    return live


def device():
    """The device that computes, or None as long as there is none."""
    if _mm is None:
        return None
    return _mm.get_torch_device()


def accelerator():
    """torch's module for the device (torch.cuda ...) and the device, or None: on the
    CPU, and as long as nothing was begun on the card (a look must not begin it)."""
    dev = device()
    torch = sys.modules.get("torch")
    if dev is None or torch is None or getattr(dev, "type", "cpu") in ("cpu", "mps", "meta"):
        return None
    api = getattr(torch, dev.type, None)
    started = getattr(api, "is_initialized", None)
    if api is None or (started is not None and not started()):
        return None
    return api, dev


def _allocator(api, dev):
    """torch's own counters. The nested form is a tenth of the price of the flat."""
    nested = getattr(api, "memory_stats_as_nested_dict", None)
    if nested is not None:
        s = nested(dev)
        if not s:
            return {}
        a, r = s["allocated_bytes"]["all"], s["reserved_bytes"]["all"]
        return {"ta": a["current"], "tr": r["current"], "tp": a["peak"], "rp": r["peak"],
                "oom": s.get("num_ooms", 0), "rt": s.get("num_alloc_retries", 0)}
    s = api.memory_stats(dev)
    return {"ta": s["allocated_bytes.all.current"], "tr": s["reserved_bytes.all.current"],
            "tp": s["allocated_bytes.all.peak"], "rp": s["reserved_bytes.all.peak"],
            "oom": s.get("num_ooms", 0), "rt": s.get("num_alloc_retries", 0)}


def allocator():
    """torch's counters and the weights that are resident, for a stretch."""
    v = {}
    found = accelerator()
    if found is not None:
        v.update(hooks.guard("torch.memory_stats", _allocator, *found) or {})
    weights = hooks.guard("weights", _weights)
    if weights is not None:
        v["w"], v["wt"] = weights
    return v


def reset_peak():
    """Begins a new stretch of torch's peak counters."""
    found = accelerator()
    if found is not None:
        found[0].reset_peak_memory_stats(found[1])


def _weights():
    """Resident bytes of loaded models on the device, and the part in torch."""
    dev, total, in_torch = device(), 0, 0
    for loaded in list(_mm.current_loaded_models):
        patcher = loaded.model
        if patcher is None or loaded.device != dev:
            continue
        size, vbar = int(patcher.loaded_size()), _vbar_of(patcher)
        total += size
        in_torch += max(0, size - vbar)
    return total, in_torch


def _vbar_of(patcher):
    get = getattr(patcher, "_vbar_get", None)
    vbar = get() if get is not None else None
    return int(vbar.loaded_size()) if vbar is not None else 0


def _resident(live, size):
    return sum(int(size(item)) for item in list(live))


def cheap():
    """What costs microseconds."""
    v = allocator()
    if _vbars is not None:
        v["vb"] = hooks.guard("vbars", _resident, _vbars, lambda b: b.loaded_size())
    if _vrambufs is not None:
        v["cb"] = hooks.guard("cast buffers", _resident, _vrambufs, lambda b: b.size())
    if _aimdo is not None and getattr(_aimdo, "lib", None) is not None:
        v["au"] = hooks.guard("comfy_aimdo.control.get_total_vram_usage", _aimdo.get_total_vram_usage)
    pinned = getattr(_mm, "TOTAL_PINNED_MEMORY", None)
    if pinned is not None:
        v["pin"] = int(pinned)
    v.update(hooks.guard("/proc/self/statm", process) or {})
    return {k: x for k, x in v.items() if x is not None}


def full():
    """Everything: also what asks the driver."""
    v = cheap()
    found = accelerator()
    if found is not None and hasattr(found[0], "mem_get_info"):
        free = hooks.guard("torch.mem_get_info", found[0].mem_get_info, found[1])
        if free:
            v["fd"], v["td"] = int(free[0]), int(free[1])
    free = hooks.guard("comfy.model_management.get_free_memory", _comfy_free)
    if free is not None:
        v["fc"] = free
    entries = hooks.guard("cache", _entries)
    if entries is not None:
        v["ce"] = entries
    return v


def _comfy_free():
    if _mm is None or accelerator() is None:
        return None  # on the CPU it is RAM, which memtrix reads itself
    return int(_mm.get_free_memory(device()))


def _entries():
    live = cache() if cache is not None else None
    entries = getattr(live, "cache", None)
    return len(entries) if entries is not None else None


def process():
    """Resident and anonymous memory (proc_pid_statm(5): shared is file and shmem)."""
    global _statm
    if _statm is None:
        _statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    _, resident, shared = os.pread(_statm, 128, 0).split()[:3]
    return {"rss": int(resident) * _page, "anon": (int(resident) - int(shared)) * _page}


def model_name(patcher):
    """The class of the real model, and a number that tells two of a class apart."""
    global _count
    real = getattr(patcher, "model", patcher)
    known = _names.get(id(real))
    if known is None or known[0]() is not real:
        _count += 1
        known = (weakref.ref(real), _count)
        _names[id(real)] = known
    return type(real).__name__, known[1]


def model(loaded):
    """One loaded model: its size, and where it is."""
    patcher = loaded.model
    if patcher is None:
        return None
    name, number = model_name(patcher)
    dynamic = hasattr(patcher, "is_dynamic") and bool(patcher.is_dynamic())
    m = {"n": number, "c": name, "size": int(patcher.model_size()), "loaded": int(patcher.loaded_size()),
         "dev": str(loaded.device), "dyn": dynamic}
    if dynamic:
        m["vb"] = _vbar_of(patcher)
        # Older ones walk through all modules for it.
        if hasattr(patcher, "loaded_ram_size"):
            m["pin"] = int(patcher.pinned_memory_size())
            m["ram"] = int(patcher.loaded_ram_size())
    return m


def models():
    """All models that ComfyUI counts as loaded, the last used first."""
    if _mm is None:
        return []
    found = (hooks.guard("model", model, loaded) for loaded in list(_mm.current_loaded_models))
    return [m for m in found if m is not None]


def management():
    """comfy.model_management, once it has been imported."""
    return _mm
