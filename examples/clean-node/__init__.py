"""The clean twin of leaky-node: the same work, and nothing is kept."""

import torch

MIB = 1 << 20


class MemtrixCleanPass:
    """Passes a picture on; a tensor of a given size lives while it runs."""

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
        used = torch.ones(mebibytes * MIB, dtype=torch.uint8)
        del used
        return (image,)


NODE_CLASS_MAPPINGS = {"MemtrixCleanPass": MemtrixCleanPass}
