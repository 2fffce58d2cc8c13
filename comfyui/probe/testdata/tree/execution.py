import asyncio
import os

import comfy.model_management as mm
import comfy.utils
import torch
from comfy_execution.caching import RAMPressureCache


class Graph:
    def __init__(self, prompt):
        self.prompt = prompt

    def get_node(self, i):
        return self.prompt[i]

    def get_display_node_id(self, i):
        return i


async def get_output_data(prompt_id, unique_id, obj, input_data_all):
    return WORK[obj](), {}, False, False


def load():
    if os.environ.get("TREE_EAGER"):  # made on the card, and counted as loaded later
        torch.cuda.use(3000)
        mm.UNET.size = 3000
    mm.load_models_gpu([mm.UNET], memory_required=1000)
    return [torch.Tensor(64)]


def sample():
    torch.cuda.use(5000)
    torch.cuda.use(-5000)
    bar = comfy.utils.ProgressBar(2)
    bar.update_absolute(1)
    return [torch.Tensor(128)]


def explode():
    raise torch.OutOfMemoryError("Tried to allocate 9.00 GiB")


WORK = {"Load": load, "Sample": sample, "Explode": explode}


async def execute(server, dynprompt, caches, current_item, extra_data, executed, prompt_id, *rest):
    if current_item in caches.outputs.cache:
        return "cached"
    try:
        output = await get_output_data(prompt_id, current_item, dynprompt.get_node(current_item)["class_type"], {})
    except Exception as ex:
        if mm.is_oom(ex):
            mm.is_oom(ex)
            mm.unload_all_models()
        return f"failed: {ex}"
    if current_item == "1":
        caches.outputs.cache[current_item] = output
    return "success"


class Caches:
    def __init__(self):
        self.outputs = RAMPressureCache()


class PromptExecutor:
    def __init__(self):
        self.caches = Caches()

    def execute(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        return asyncio.run(self.execute_async(prompt, prompt_id, extra_data, execute_outputs))

    async def execute_async(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        results = [await execute(self, Graph(prompt), self.caches, i, extra_data, set(), prompt_id) for i in prompt]
        self.caches.outputs.ram_release(10)
        return results


for name in os.environ.get("TREE_LACKS", "").split():
    if name in globals():
        del globals()[name]
