#!/usr/bin/env python3
"""Loads every stand-in with an installed ComfyUI, and says what it was taken for.

    PYTHON check.py COMFYUI_FOLDER MEMTRIX WORK_FOLDER [FAMILY | FAMILY/TYPE ...]

PYTHON is one that can run that ComfyUI, MEMTRIX the program, WORK_FOLDER an empty
folder on a file system with sparse files. For each family and type of `memtrix
standin list` the stand-in is written, loaded by ComfyUI's own loader node on the
CPU, and removed. One line each: family, type, tensors, bytes, what the model
became, what the log said of keys that are missing or left over (at DEBUG: what a
server does not show by default), MiB taken.

Weights are not copied out of the file: load_state_dict is made to assign, as it
does under dynamic VRAM. A file that is too large to be mapped is given to the
loader as tensors of torch's meta device, made of its header ("names and shapes").
"""

import contextlib
import gc
import json
import logging
import os
import subprocess
import sys

LOADERS = {
    "checkpoints": ("CheckpointLoaderSimple", "load_checkpoint", "ckpt_name"),
    "diffusion_models": ("UNETLoader", "load_unet", "unet_name"),
    "text_encoders": ("CLIPLoader", "load_clip", "clip_name"),
    "vae": ("VAELoader", "load_vae", "vae_name"),
    "controlnet": ("ControlNetLoader", "load_controlnet", "control_net_name"),
}

# The input "type" of CLIPLoader.
TYPES = {
    "umt5-xxl": "wan", "qwen2.5-vl-7b": "qwen_image", "llama3-8b": "hunyuan_video", "qwen3-4b": "lumina2",
    "mistral3-flux2": "flux2", "gemma2-2b": "lumina2", "gemma3-12b": "ltxv", "t5-xxl": "chroma",
}

# A text encoder that ComfyUI takes only beside another one.
BESIDE = {"llama3-8b": "clip-l"}

# A LoRA needs the model that it is for.
LORA_OF = {"sd15-lora": "sd15", "flux-dev-lora": "flux-dev", "qwen-image-lora": "qwen-image",
           "wan22-14b-lora": "wan22-t2v-14b", "z-image-lora": "z-image"}


class Lines(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines = []

    def emit(self, record):
        line = record.getMessage()
        self.lines.append(line if record.levelno > logging.DEBUG else "DEBUG: " + line)


def start(tree, work):
    sys.path.insert(0, tree)
    os.chdir(tree)
    sys.argv = ["check.py", "--cpu"]
    import comfy.options
    comfy.options.enable_args_parsing()
    import torch
    plain = torch.nn.Module.load_state_dict

    def assigning(self, state_dict, strict=True, assign=False):
        return plain(self, state_dict, strict=strict, assign=True)

    torch.nn.Module.load_state_dict = assigning
    import comfy.utils
    mapped = comfy.utils.load_torch_file

    def mapped_or_named(path, *args, **kwargs):
        try:
            return mapped(path, *args, **kwargs)
        except RuntimeError as e:
            if "unable to mmap" not in str(e):
                raise
            NAMED.append(path)
            tensors, metadata = named(path)
            return (tensors, metadata) if kwargs.get("return_metadata") else tensors

    comfy.utils.load_torch_file = mapped_or_named
    import folder_paths
    for folder in list(LOADERS) + ["loras", "upscale_models"]:
        folder_paths.add_model_folder_path(folder, os.path.join(work, folder), is_default=True)
    import nodes
    return nodes


NAMED = []


def named(path):
    """The tensors of a file without their weights; those that are no weights are read."""
    import struct
    import torch
    kinds = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F8_E4M3": torch.float8_e4m3fn,
             "U8": torch.uint8}
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        metadata = header.pop("__metadata__", None)
        tensors = {}
        for name, info in header.items():
            start, end = info["data_offsets"]
            kind = kinds[info["dtype"]]
            if info["dtype"] == "U8" or end - start <= 8:
                f.seek(8 + size + start)
                data = torch.frombuffer(bytearray(f.read(end - start)), dtype=kind)
                tensors[name] = data.reshape(info["shape"])
            else:
                tensors[name] = torch.empty(info["shape"], dtype=kind, device="meta")
    return tensors, metadata


def write(memtrix, work, family, dtype):
    path = os.path.join(work, family["folder"], "%s-%s.safetensors" % (family["family"], dtype))
    subprocess.run([memtrix, "standin", "write", family["family"], "--dtype", dtype, "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


@contextlib.contextmanager
def written(*args):
    path = write(*args)
    try:
        yield path
    finally:
        os.remove(path)


def load(nodes, memtrix, work, families, family, path):
    """Gives what the node made, in words."""
    name, folder = os.path.basename(path), family["folder"]
    if folder == "loras":
        model = families[LORA_OF[family["family"]]]
        with written(memtrix, work, model, model["dtypes"][0]) as of:
            patcher = load_one(nodes, model["folder"], os.path.basename(of), "")[0]
            loaded = nodes.LoraLoaderModelOnly().load_lora_model_only(patcher, name, 1.0)[0]
            return "%d patches" % len(loaded.patches)
    if folder == "upscale_models":
        import comfy_extras.nodes_upscale_model as upscale
        return type(upscale.UpscaleModelLoader.execute(name)[0].model).__name__
    if family["family"] in BESIDE:
        other = families[BESIDE[family["family"]]]
        with written(memtrix, work, other, other["dtypes"][0]) as beside:
            out = nodes.DualCLIPLoader().load_clip(os.path.basename(beside), name, TYPES[family["family"]])
            return describe(out)
    return describe(load_one(nodes, folder, name, TYPES.get(family["family"], "stable_diffusion")))


def load_one(nodes, folder, name, kind):
    class_name, method, key = LOADERS[folder]
    args = {key: name}
    if folder == "diffusion_models":
        args["weight_dtype"] = "default"
    if folder == "text_encoders":
        args["type"] = kind
    return getattr(nodes.NODE_CLASS_MAPPINGS[class_name](), method)(**args)


def describe(outputs):
    words = []
    for out in outputs:
        if hasattr(out, "model_config") or hasattr(out, "model"):
            model = out.model
            words.append("%s, model_type %s" % (type(model.model_config).__name__, model.model_type.name))
        elif hasattr(out, "cond_stage_model"):
            inner = out.cond_stage_model
            words.append(type(inner).__name__)
        elif hasattr(out, "first_stage_model") and out.first_stage_model is not None:
            words.append("%s, %d channels" % (type(out.first_stage_model).__name__, out.latent_channels))
        elif hasattr(out, "control_model"):
            words.append(type(out.control_model).__name__)
    return "; ".join(words)


def complaints(lines):
    bad = []
    for line in lines:
        low = line.lower()
        if any(w in low for w in ("missing", "unexpected", "leftover", "left over", "not loaded", "warning: no", "error")):
            if low.endswith("left over keys: dict_keys([])"):
                continue
            bad.append(line[:200])
    return " | ".join(bad) or "-"


def resident():
    with open("/proc/self/status") as f:
        return {line.split(":")[0]: int(line.split()[1]) // 1024 for line in f if line.startswith(("RssAnon", "VmRSS"))}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    tree, memtrix, work = (os.path.abspath(p) for p in sys.argv[1:4])
    wanted = sys.argv[4:]
    listed = json.loads(subprocess.run([memtrix, "standin", "list", "--json"], check=True, capture_output=True).stdout)
    families = {f["family"]: f for f in listed["families"]}
    nodes = start(tree, work)
    log = Lines()
    logging.getLogger().addHandler(log)
    logging.getLogger().setLevel(logging.DEBUG)
    for name, family in families.items():
        for dtype in family["dtypes"]:
            if wanted and name not in wanted and name + "/" + dtype not in wanted:
                continue
            log.lines.clear()
            NAMED.clear()
            with written(memtrix, work, family, dtype) as path:
                size = os.path.getsize(path)
                try:
                    what = load(nodes, memtrix, work, families, family, path)
                except Exception as e:
                    what = "FAILED: %s: %s" % (type(e).__name__, str(e)[:200])
                if NAMED:
                    what += " (names and shapes)"
                print("\t".join([name, dtype, str(size), what, complaints(log.lines), "%(RssAnon)d MiB" % resident()]),
                      flush=True)
            gc.collect()


if __name__ == "__main__":
    main()
