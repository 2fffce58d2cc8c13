"""A torch of a few lines: what the module uses of the real one."""

import sys
import types

observers = []
queued = []


class memory:
    recorded = None

    @staticmethod
    def _record_memory_history(**how):
        memory.recorded = how

    @staticmethod
    def _snapshot():
        def block(size, line, state="active_allocated"):
            return {"size": size, "state": state, "frames": [
                {"filename": "/venv/lib/python3.12/site-packages/torch/nn/functional.py", "line": 1, "name": "linear"},
                {"filename": "/comfy/ldm/modules/attention.py", "line": line, "name": "attention"}]}

        return {"segments": [
            {"device": 0, "total_size": 64 << 20, "blocks": [block(20 << 20, 10), block(10 << 20, 10), block(8 << 20, 20), block(4 << 20, 30, "inactive")]},
            {"device": 1, "total_size": 99 << 20, "blocks": [block(99 << 20, 99)]}]}


cuda = types.SimpleNamespace(memory=memory, _lazy_call=lambda f: queued.append(f))
_C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=observers.append)
sys.modules["torch.cuda"] = cuda


def fail():
    for observer in observers:
        observer(0, 960 << 20, 8 << 30, 100 << 20)
