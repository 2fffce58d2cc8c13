import os

import torch


class Real(torch.nn.Module):
    """A model of 3000 bytes."""


class Patcher:
    load_device = torch.device("cuda:0")

    def __init__(self):
        self.model = Real()
        self.size = 0

    def model_size(self):
        return 3000

    def loaded_size(self):
        return self.size


UNET = Patcher()
current_loaded_models = []
TOTAL_PINNED_MEMORY = 77


class LoadedModel:
    def __init__(self, model):
        self.model = model
        self.device = model.load_device

    def model_load(self, lowvram_model_memory=0, force_patch_weights=False):
        torch.cuda.use(3000 - self.model.size)
        self.model.size = 3000
        return self.model.model

    def model_unload(self, memory_to_free=None, unpatch_weights=True):
        torch.cuda.use(-self.model.size)
        self.model.size = 0
        return True


def get_torch_device():
    return Patcher.load_device


def get_free_memory(dev=None, torch_free_too=False):
    return torch.cuda.mem_get_info(dev)[0] + 1


def soft_empty_cache(force=False):
    torch.cuda.empty_cache()


def free_memory(memory_required, device, keep_loaded=[]):
    gone = [m for m in current_loaded_models if m.model_unload()]
    current_loaded_models.clear()
    soft_empty_cache()
    return gone


def load_models_gpu(models, memory_required=0, force_patch_weights=False):
    for m in models:
        loaded = LoadedModel(m)
        loaded.model_load(0)
        current_loaded_models[:] = [loaded]


def unload_all_models():
    free_memory(1e30, get_torch_device())


def is_oom(e):
    return isinstance(e, torch.OutOfMemoryError)


for name in os.environ.get("TREE_LACKS", "").split():
    if name in globals():
        del globals()[name]
