"""A custom node that leaks: an example to try `memtrix leak` on.

Each time it runs it keeps 5 MiB for ever, in a list of the module, as a cache without
a bound does. The picture goes through unchanged. Its twin, clean-node, does the same
work and keeps nothing.
"""

import torch

KEPT = []
MIB = 1 << 20


class MemtrixLeakyPass:
    """Passes a picture on and keeps a tensor of a given size."""

    CATEGORY = "memtrix/examples"
    RETURN_TYPES = ("IMAGE",)
    FUNCTION = "run"

    @classmethod
    def INPUT_TYPES(cls):
        return {
            "required": {
                "image": ("IMAGE",),
                "mebibytes": ("INT", {"default": 5, "min": 0, "max": 1024}),
            }
        }

    def run(self, image, mebibytes):
        # Ones and not zeros: the system gives memory for pages that are written.
        KEPT.append(torch.ones(mebibytes * MIB, dtype=torch.uint8))
        return (image,)


NODE_CLASS_MAPPINGS = {"MemtrixLeakyPass": MemtrixLeakyPass}
