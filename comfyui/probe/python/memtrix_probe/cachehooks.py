"""The cache of node outputs: what memory pressure throws out of it."""

from . import channel, hooks


@hooks.module("comfy_execution.caching")
def _caching(module):
    cls = getattr(module, "RAMPressureCache", None)
    name = "comfy_execution.caching.RAMPressureCache"
    if cls is None:
        hooks.report(name, "this version has none of that name")
        return
    # ram_release since 0.19, poll before.
    hooks.wrap(cls, "ram_release" if hasattr(cls, "ram_release") else "poll", name, _begins, _ended)


def _begins(args, kwargs):
    return channel.now(), len(args[0].cache)


def _ended(token, result, error, args):
    if token is None:
        return
    begun, before = token
    gone = before - len(args[0].cache)
    if gone > 0:
        record = {"k": "evict", "t0": begun, "t1": channel.now(), "n": gone}
        if isinstance(result, (int, float)) and result > 0:
            record["freed"] = int(result)
        channel.emit(record)
