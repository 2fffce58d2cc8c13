import os

_now = _peak = _reserved = 0


def use(n):
    global _now, _peak, _reserved
    _now += n
    _peak = max(_peak, _now)
    _reserved = max(_reserved, _now)


def is_initialized():
    return True


def memory_stats_as_nested_dict(dev):
    if os.environ.get("TREE_BREAKS"):
        raise KeyError("allocated_bytes")
    return {"allocated_bytes": {"all": {"current": _now, "peak": _peak}},
            "reserved_bytes": {"all": {"current": _reserved, "peak": _reserved}},
            "num_ooms": 0, "num_alloc_retries": 0}


def reset_peak_memory_stats(dev):
    global _peak
    _peak = _now


def empty_cache():
    global _reserved
    _reserved = _now


def mem_get_info(dev):
    return 100000 - 500 - _reserved, 100000
