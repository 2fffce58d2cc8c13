"""Models that come and go, torch's cache, errors that were caught, and GC runs."""

import gc

from . import channel, hooks, nodehooks, readings

_gc_began = 0


@hooks.module("comfy.model_management")
def _model_management(module):
    name = "comfy.model_management."
    hooks.wrap(module, "load_models_gpu", name + "load_models_gpu", _fit_begins, _fitted)
    hooks.wrap(module, "free_memory", name + "free_memory", _free_begins, _freed)
    hooks.wrap(module, "soft_empty_cache", name + "soft_empty_cache", _empty_begins, _emptied)
    hooks.wrap(module, "unload_all_models", name + "unload_all_models", _all_begins, _all_unloaded)
    hooks.wrap(module, "is_oom", name + "is_oom", None, _is_oom)
    loaded = hooks.need(module, "LoadedModel", name + "LoadedModel")
    if loaded is not None:
        hooks.report(name + "LoadedModel")
        hooks.wrap(loaded, "model_load", name + "LoadedModel.model_load", _load_begins, _loaded)
        hooks.wrap(loaded, "model_unload", name + "LoadedModel.model_unload", _unload_begins, _unloaded)


def _fit_begins(args, kwargs):
    before = nodehooks.cut()
    models = [readings.model_name(m)[0] for m in list(hooks.argument(args, kwargs, 0, "models", ()))]
    return before, channel.now(), models, _bytes(hooks.argument(args, kwargs, 1, "memory_required", 0))


def _fitted(token, result, error, args):
    if token is None:
        nodehooks.cut()
        return
    before, begun, models, required = token
    nodehooks.fitted(before)
    record = {"k": "fit", "t0": begun, "t1": channel.now(), "c": models, "v": readings.full(), "m": readings.models()}
    if required is not None:
        record["asked"] = required
    _emit(record, error)


def _bytes(value):
    """A number of bytes; what stands for "all" (1e30 and the like) is none."""
    value = float(value)
    return int(value) if 0 < value < 1 << 50 else None


def _emit(record, error=None):
    node = nodehooks.running()
    if node is not None:
        record["id"] = node
    if error is not None:
        record["err"] = channel.text(f"{type(error).__name__}: {error}")
    channel.emit(record)


def _load_begins(args, kwargs):
    nodehooks.loading()
    return channel.now(), _loaded_size(args[0]), _bytes(hooks.argument(args, kwargs, 1, "lowvram_model_memory", 0))


def _loaded_size(loaded):
    patcher = loaded.model
    return int(patcher.loaded_size()) if patcher is not None else 0


def _loaded(token, result, error, args):
    if token is None:
        return
    begun, was, room = token
    record = {"k": "load", "how": "load", "t0": begun, "t1": channel.now(), "was": was, "m": [readings.model(args[0])]}
    if room is not None:
        record["asked"] = room
    _emit(record, error)


def _unload_begins(args, kwargs):
    return channel.now(), _loaded_size(args[0]), _bytes(hooks.argument(args, kwargs, 1, "memory_to_free") or 0)


def _unloaded(token, result, error, args):
    if token is None:
        return
    begun, was, room = token
    m = readings.model(args[0])
    record = {"k": "load", "how": "unload" if result else "part", "t0": begun, "t1": channel.now(), "was": was,
              "m": [m] if m is not None else []}
    if room is not None:
        record["asked"] = room
    _emit(record, error)


def _free_begins(args, kwargs):
    return channel.now(), _bytes(hooks.argument(args, kwargs, 0, "memory_required", 0)), str(hooks.argument(args, kwargs, 1, "device"))


def _freed(token, result, error, args):
    if token is None:
        return
    begun, asked, device = token
    record = {"k": "free", "t0": begun, "t1": channel.now(), "dev": device}
    if asked is not None:
        record["asked"] = asked
    if isinstance(result, (list, tuple)):
        record["n"] = len(result)
    _emit(record, error)


def _empty_begins(args, kwargs):
    return channel.now(), readings.allocator().get("tr")


def _emptied(token, result, error, args):
    if token is None:
        return
    begun, before = token
    record = {"k": "empty", "t0": begun, "t1": channel.now(), "v": readings.cheap()}
    if before is not None:
        record["was"] = before
    _emit(record, error)


def _all_begins(args, kwargs):
    return channel.now()


def _all_unloaded(begun, result, error, args):
    _emit({"k": "unload-all", "t0": begun, "t1": channel.now(), "v": readings.full(), "m": readings.models()}, error)


def _is_oom(token, result, error, args):
    """An out-of-memory error that ComfyUI caught. It may be asked about one twice."""
    if not result or not args:
        return
    caught = args[0]
    if getattr(caught, "_memtrix_told", False):
        return
    try:
        caught._memtrix_told = True
    except AttributeError:
        pass
    _emit({"k": "oom", "t": channel.now(), "type": type(caught).__name__, "text": channel.text(caught), "v": readings.cheap()})


def _collected(phase, info):
    """Called by the garbage collector, in whatever thread it runs. Only full
    collections are told: the others come hundreds of times a second."""
    global _gc_began
    if info.get("generation") != 2:
        return
    if phase == "start":
        _gc_began = channel.now()
    else:
        channel.emit({"k": "gc", "t0": _gc_began, "t1": channel.now(), "n": info.get("collected", 0)}, flush=False)


def watch_gc(wanted):
    """Begins or ends to listen to the garbage collector."""
    there = _collected in gc.callbacks
    if wanted and not there:
        gc.callbacks.append(_collected)
    elif there and not wanted:
        gc.callbacks.remove(_collected)


watch_gc(True)
hooks.report("gc.callbacks")
