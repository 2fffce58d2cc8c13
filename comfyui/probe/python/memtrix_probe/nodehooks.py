"""Prompts, nodes and sampling steps."""

import weakref

from . import channel, hooks, readings

STEP_PAUSE = 100_000_000  # ns between two readings at steps

_last_step = 0
_asked = None  # (id, display id, class, prompt id) of the node that execute was called for
_current = None  # the node that runs
_outside = False  # whether get_output_data is there to tell real work from a cached node


class Node:
    """What is counted while a node runs. See the package for "work"."""

    def __init__(self, who):
        self.who = who
        self.peak = self.reserved = None
        self.loads = 0
        self.in_torch = 0
        self.ooms = None
        self.stretches = []  # [torch's peak, weights, allocated at the end] of each

    def stretch(self, v):
        """Ends a stretch, of which v are the counters."""
        weights = v.get("wt", 0)
        peak = v.get("tp")
        if peak is not None:
            self.peak = peak if self.peak is None else max(self.peak, peak)
            self.reserved = v["rp"] if self.reserved is None else max(self.reserved, v["rp"])
            self.stretches.append([peak, max(weights, self.in_torch), v["ta"]])
        self.in_torch = weights

    def were_there(self, size):
        """Says that so many bytes of weights were in torch's memory before ComfyUI
        counted them as loaded: no stretch so far had them as work."""
        for s in self.stretches:
            s[1] += min(size, max(0, s[2] - s[1]))

    def work(self):
        """The largest part of torch's peak that were no weights, or None."""
        return max((max(0, peak - weights) for peak, weights, _ in self.stretches), default=None)


def cut():
    """Ends a stretch of the running node and begins the next one. Returns the counters."""
    v = readings.allocator()
    if _current is not None:
        _current.stretch(v)
    readings.reset_peak()
    return v


def fitted(before):
    """Ends the stretch of a load that began with these counters. Weights that came
    without torch allocating as much were there already: a loader may make a model on
    the card and only then have it counted."""
    after = cut()
    if _current is None or "ta" not in before or "ta" not in after:
        return
    came = after.get("wt", 0) - before.get("wt", 0)
    early = came - max(0, after["ta"] - before["ta"])
    if early > 0:
        _current.were_there(early)


def loading():
    """A load belongs to the running node."""
    if _current is not None:
        _current.loads += 1


def running():
    """The id of the running node, or None."""
    return _current.who[0] if _current is not None else None


@hooks.module("execution")
def _execution(module):
    global _outside
    _outside = not hooks.wrap(module, "get_output_data", "execution.get_output_data",
                              lambda args, kwargs: _begin(), _got)
    hooks.wrap(module, "execute", "execution.execute", _called, _returned)
    executor = hooks.need(module, "PromptExecutor", "execution.PromptExecutor")
    if executor is None:
        return
    hooks.report("execution.PromptExecutor")
    entry = "execute_async" if hasattr(executor, "execute_async") else "execute"
    hooks.wrap(executor, entry, "execution.PromptExecutor." + entry, _prompt_begins, _prompt_ended)


@hooks.module("comfy.utils")
def _utils(module):
    bar = getattr(module, "ProgressBar", None)
    if bar is None:
        hooks.report("comfy.utils.ProgressBar", "this version has none of that name")
        return
    hooks.wrap(bar, "update_absolute", "comfy.utils.ProgressBar.update_absolute", None, _step)


def _prompt_begins(args, kwargs):
    caches = getattr(args[0], "caches", None)
    outputs = getattr(caches, "outputs", None)
    readings.cache = weakref.ref(outputs) if outputs is not None else None
    prompt = channel.text(hooks.argument(args, kwargs, 2, "prompt_id", ""))
    channel.emit({"k": "prompt", "t": channel.now(), "s": "start", "p": prompt, "v": readings.full()})
    return prompt


def _prompt_ended(prompt, result, error, args):
    # A node that never came back would count what follows as its own.
    global _current
    _current = None
    record = {"k": "prompt", "t": channel.now(), "s": "end", "p": prompt, "v": readings.full()}
    channel.emit(record)


def _called(args, kwargs):
    global _asked
    graph = hooks.argument(args, kwargs, 1, "dynprompt")
    node = hooks.argument(args, kwargs, 3, "current_item")
    prompt = hooks.argument(args, kwargs, 6, "prompt_id", "")
    _asked = (str(node), str(graph.get_display_node_id(node)), str(graph.get_node(node)["class_type"]), str(prompt))
    if _outside:
        _begin()


def _returned(token, result, error, args):
    if _outside:
        state = str(getattr(result[0], "name", "")).lower() if result else ""
        _end("failure" if error is not None else state or "success", error)


def _begin():
    global _current
    if _asked is None:
        return
    node = Node(_asked)
    v = readings.cheap()  # the driver was asked at the end of the node before
    node.in_torch, node.ooms = v.get("wt", 0), v.get("oom")
    readings.reset_peak()
    _current = node
    who = node.who
    channel.emit({"k": "ns", "t": channel.now(), "id": who[0], "d": who[1], "c": who[2], "p": who[3], "v": v})


def _got(token, result, error, args):
    pending = isinstance(result, tuple) and len(result) > 3 and bool(result[3])
    _end("failure" if error is not None else "pending" if pending else "success", error)


def _end(state, error):
    global _current
    node = _current
    if node is None:
        return
    v = readings.full()
    node.stretch(v)
    _current = None
    record = {"k": "ne", "t": channel.now(), "id": node.who[0], "s": state, "v": v, "loads": node.loads}
    for key, value in (("tp", node.peak), ("rp", node.reserved), ("work", node.work())):
        if value is not None:
            record[key] = value
    if node.ooms is not None and "oom" in v:
        record["ooms"] = v["oom"] - node.ooms
    if error is not None:
        record["err"] = channel.text(f"{type(error).__name__}: {error}")
    models = readings.models()
    if models:
        record["m"] = models
    channel.emit(record)


def _step(token, result, error, args):
    global _last_step
    t = channel.now()
    if t - _last_step < STEP_PAUSE:
        return
    _last_step = t
    channel.emit({"k": "step", "t": t, "v": readings.cheap()})
