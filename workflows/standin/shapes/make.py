#!/usr/bin/env python3
"""Writes the tensor lists of this folder, from the model classes of an installed ComfyUI.

    PYTHON make.py COMFYUI_FOLDER [PART ...]

PYTHON is one that can run that ComfyUI. Each model is built on torch's meta device,
which takes no memory, and the names and shapes of its state dict are written to
PART.txt beside this script. For a diffusion model the configuration below must be
what ComfyUI itself detects from the list: anything else is an error. What the files
mean is in README.md.
"""

import math
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# What ComfyUI finds in the files of each model (comfy/model_detection.py).

SD = dict(use_checkpoint=False, image_size=32, out_channels=4, use_spatial_transformer=True, legacy=False,
          in_channels=4, model_channels=320, use_temporal_attention=False, use_temporal_resblock=False)
SD35 = dict(in_channels=16, patch_size=2, out_channels=16, input_size=None, adm_in_channels=2048, qk_norm="rms",
            pos_embed_scaling_factor=None)
FLUX = dict(image_model="flux", axes_dim=[16, 56, 56], num_heads=24, mlp_ratio=4.0, theta=10000, out_channels=16,
            qkv_bias=True, txt_ids_dims=[], in_channels=16, hidden_size=3072, context_in_dim=4096, patch_size=2,
            vec_in_dim=768, depth=19, depth_single_blocks=38, guidance_embed=True, yak_mlp=False, txt_norm=False)
FLUX2 = dict(FLUX, image_model="flux2", axes_dim=[32, 32, 32, 32], num_heads=48, mlp_ratio=3.0, theta=2000,
             out_channels=128, global_modulation=True, mlp_silu_act=True, qkv_bias=False, ops_bias=False,
             default_ref_method="index", ref_index_scale=10.0, txt_ids_dims=[3], patch_size=1, in_channels=128,
             hidden_size=6144, context_in_dim=15360, vec_in_dim=None, depth=8, depth_single_blocks=48)
WAN = dict(image_model="wan2.1", dim=5120, out_dim=16, num_heads=40, ffn_dim=13824, num_layers=40,
           patch_size=(1, 2, 2), freq_dim=256, window_size=(-1, -1), qk_norm=True, cross_attn_norm=True, eps=1e-6,
           in_dim=16, model_type="t2v")
LUMINA = dict(image_model="lumina2", patch_size=2, in_channels=16, qk_norm=True)


def context(size, width):
    return {"target": "torch.nn.Linear", "params": {"in_features": size, "out_features": width}}


UNETS = {
    "sd15.unet": dict(SD, adm_in_channels=None, num_res_blocks=[2] * 4, transformer_depth=[1] * 6 + [0] * 2,
                      channel_mult=[1, 2, 4, 4], transformer_depth_middle=1, use_linear_in_transformer=False,
                      context_dim=768, transformer_depth_output=[1] * 9 + [0] * 3),
    "sdxl.unet": dict(SD, num_classes="sequential", adm_in_channels=2816, num_res_blocks=[2] * 3,
                      transformer_depth=[0, 0, 2, 2, 10, 10], channel_mult=[1, 2, 4], transformer_depth_middle=10,
                      use_linear_in_transformer=True, context_dim=2048,
                      transformer_depth_output=[0, 0, 0, 2, 2, 2, 10, 10, 10]),
    "sd35-large": dict(SD35, depth=38, context_embedder_config=context(4096, 2432), num_patches=36864,
                       pos_embed_max_size=192, x_block_self_attn_layers=[]),
    "sd35-medium": dict(SD35, depth=24, context_embedder_config=context(4096, 1536), num_patches=147456,
                        pos_embed_max_size=384, x_block_self_attn_layers=list(range(13))),
    "flux-dev": FLUX,
    "flux2-dev": FLUX2,
    "flux2-klein-4b": dict(FLUX2, num_heads=24, hidden_size=3072, context_in_dim=7680, depth=5,
                           depth_single_blocks=20, guidance_embed=False),
    "qwen-image": dict(image_model="qwen_image", in_channels=64, num_layers=60),
    "wan21-t2v-1.3b": dict(WAN, dim=1536, num_heads=12, ffn_dim=8960, num_layers=30),
    "wan21-t2v-14b": WAN,
    "wan21-i2v-14b": dict(WAN, in_dim=36, model_type="i2v"),
    "wan22-ti2v-5b": dict(WAN, dim=3072, num_heads=24, ffn_dim=14336, num_layers=30, in_dim=48, out_dim=48),
    "wan22-i2v-14b": dict(WAN, in_dim=36),
    "hunyuan-video": dict(image_model="hunyuan_video", in_channels=16, patch_size=[1, 2, 2], out_channels=16,
                          vec_in_dim=768, axes_dim=[16, 56, 56], meanflow=False, context_in_dim=4096,
                          hidden_size=3072, mlp_ratio=4.0, num_heads=24, depth=20, depth_single_blocks=40, theta=256,
                          qkv_bias=True, byt5=False, guidance_embed=True, use_cond_type_embedding=False,
                          vision_in_dim=None, meanflow_sum=False),
    "ltxv-2b": dict(image_model="ltxv", num_layers=28, attention_head_dim=64, cross_attention_dim=2048),
    "ltx2-19b": dict(image_model="ltxav", num_layers=48, attention_head_dim=128, cross_attention_dim=4096),
    "z-image": dict(LUMINA, dim=3840, cap_feat_dim=2560, n_layers=30, n_heads=30, n_kv_heads=30,
                    axes_dims=[32, 48, 48], axes_lens=[1536, 512, 512], rope_theta=256.0,
                    ffn_dim_multiplier=8.0 / 3.0, z_image_modulation=True, time_scale=1000.0, pad_tokens_multiple=32),
    "lumina2": dict(LUMINA, dim=2304, cap_feat_dim=2304, n_layers=26, n_heads=24, n_kv_heads=8,
                    axes_dims=[32, 32, 32], axes_lens=[300, 512, 512], rope_theta=10000.0, ffn_dim_multiplier=4.0),
    "chroma": dict({k: v for k, v in FLUX.items() if k not in ("guidance_embed", "yak_mlp", "txt_norm")},
                   image_model="chroma", in_channels=64, out_channels=64, in_dim=64, out_dim=3072, hidden_dim=5120,
                   n_layers=5, vec_in_dim=None),
}

# Tensors of published files that the class has no place for, or under another name.

# T5 files hold the embedding twice.
T5_EXTRA = {"encoder.embed_tokens.weight": "shared.weight"}


def kl(z, quant=True, **more):
    """The autoencoder of Stable Diffusion and Flux, as comfy/sd.py builds it."""
    from comfy.ldm.models.autoencoder import AutoencoderKL, AutoencodingEngine
    config = dict(double_z=True, z_channels=z, resolution=256, in_channels=3, out_ch=3, ch=128, ch_mult=[1, 2, 4, 4],
                  num_res_blocks=2, attn_resolutions=[], dropout=0.0, **more)
    if quant:
        return AutoencoderKL(ddconfig=config, embed_dim=z)
    coder = "comfy.ldm.modules.diffusionmodules.model."
    return AutoencodingEngine(
        regularizer_config={"target": "comfy.ldm.models.autoencoder.DiagonalGaussianRegularizer"},
        encoder_config={"target": coder + "Encoder", "params": config},
        decoder_config={"target": coder + "Decoder", "params": config})


def ltx2_config():
    """What the metadata of Lightricks' file says of its coders."""
    import json
    with open(os.path.join(HERE, "ltx2.json")) as f:
        return json.load(f)


def ltx2_audio():
    from comfy.ldm.lightricks.vae.audio_vae import AudioVAE
    return AudioVAE(metadata={"config": ltx2_config()})


def ltx2_text():
    import torch
    return torch.nn.ModuleDict({"aggregate_embed": torch.nn.Linear(3840 * 49, 3840, bias=False)})


def wan_vae(module, **more):
    return module.WanVAE(dim_mult=[1, 2, 4, 4], num_res_blocks=2, attn_scales=[],
                         temperal_downsample=[False, True, True], dropout=0.0, **more)


def json_config(name):
    import json
    import comfy
    with open(os.path.join(comfy.__path__[0], "text_encoders", name)) as f:
        return json.load(f)


def clip(name):
    import json
    import comfy
    from comfy.clip_model import CLIPTextModel
    with open(os.path.join(comfy.__path__[0], name)) as f:
        return CLIPTextModel(json.load(f), None, "meta", ops())


def open_clip():
    """CLIP-G under the names of open_clip, as SDXL checkpoints have it."""
    names = {"layer_norm1": "ln_1", "layer_norm2": "ln_2", "mlp.fc1": "mlp.c_fc", "mlp.fc2": "mlp.c_proj",
             "self_attn.out_proj": "attn.out_proj"}
    top = {"text_model.embeddings.token_embedding.weight": "token_embedding.weight",
           "text_model.embeddings.position_embedding.weight": "positional_embedding",
           "text_model.final_layer_norm.weight": "ln_final.weight",
           "text_model.final_layer_norm.bias": "ln_final.bias", "text_projection.weight": "text_projection"}
    out = {"logit_scale": ()}
    for name, shape in shapes_of(clip("clip_config_bigg.json")).items():
        layer = re.fullmatch(r"text_model\.encoder\.layers\.(\d+)\.(.*)\.(weight|bias)", name)
        if not layer:
            out[top[name]] = shape
            continue
        number, kind, what = layer.groups()
        block = "transformer.resblocks.%s." % number
        if kind in names:
            out[block + names[kind] + "." + what] = shape
        elif kind == "self_attn.q_proj":  # q, k and v in one
            out[block + "attn.in_proj_" + what] = (3 * shape[0], *shape[1:])
    return out


def llama(name, **config):
    import comfy.text_encoders.llama as llamas
    return getattr(llamas, name)(config, None, "meta", ops())


def t5(name):
    from comfy.text_encoders.t5 import T5
    return T5(json_config(name), None, "meta", ops())


def ops():
    import comfy.ops
    return comfy.ops.disable_weight_init


def control():
    from comfy.cldm.cldm import ControlNet
    config = {k: v for k, v in UNETS["sd15.unet"].items() if k not in ("out_channels", "transformer_depth_output")}
    return ControlNet(hint_channels=3, num_heads=8, device="meta", **config)


def esrgan():
    from spandrel.architectures.ESRGAN import ESRGAN
    return ESRGAN(in_nc=3, out_nc=3, num_filters=64, num_blocks=23, scale=4)


def other_models():
    """Part: how to build it, and tensors to add (name: that of one with its shape) or to drop."""
    import comfy.ldm.lightricks.vae.causal_video_autoencoder as ltx
    import comfy.ldm.wan.vae
    import comfy.ldm.wan.vae2_2
    head = {"lm_head.weight": "model.embed_tokens.weight"}
    return {
        "sd.vae": (lambda: kl(4), {}),
        "flux.vae": (lambda: kl(16, quant=False), {}),
        "flux2.vae": (lambda: kl(32, batch_norm_latent=True), {}),
        "wan21.vae": (lambda: wan_vae(comfy.ldm.wan.vae, dim=96, z_dim=16, image_channels=3, conv_out_channels=3), {}),
        "wan22.vae": (lambda: wan_vae(comfy.ldm.wan.vae2_2, dim=160, z_dim=48), {}),
        "hunyuan-video.vae": (lambda: kl(16, conv3d=True, time_compress=4), {}),
        "ltxv.vae": (lambda: ltx.VideoVAE(version=2), {}),
        "ltx2.vae": (lambda: ltx.VideoVAE(config=ltx2_config()["vae"]), {}),
        "ltx2.audio": (ltx2_audio, {}),
        "ltx2.text": (ltx2_text, {}),
        "clip-l": (lambda: clip("sd1_clip_config.json"), {}),
        "clip-g": (lambda: clip("clip_config_bigg.json"), {}),
        "t5-xxl": (lambda: t5("t5_config_xxl.json"), T5_EXTRA),
        "umt5-xxl": (lambda: t5("umt5_config_xxl.json"), {}),
        "qwen25-vl-7b": (lambda: llama("Qwen25_7BVLI"), head),
        "llama3-8b": (lambda: llama("Llama2"), head),
        "mistral3-flux2": (lambda: llama("Mistral3Small24B", num_hidden_layers=30, final_norm=False), {}),
        "qwen3-4b": (lambda: llama("Qwen3_4B"), {}),
        "gemma2-2b": (lambda: llama("Gemma2_2B"), {}),
        "gemma3-12b": (lambda: llama("Gemma3_12B"), {}),
        "sd15-controlnet": (control, {}),
        "esrgan-4x": (esrgan, {}),
    }


def lora_of_sd15(rank):
    """A LoRA of all linear and convolutional layers, under the names of kohya's trainer."""
    import comfy.utils
    shapes = unet(UNETS["sd15.unet"])
    keys = comfy.utils.unet_to_diffusers(UNETS["sd15.unet"])
    out = {}
    for theirs, ours in sorted(keys.items()):
        shape = shapes.get(ours, ())
        if not theirs.endswith(".weight") or len(shape) < 2 or theirs.startswith(("conv_", "time_embedding")):
            continue
        name = "lora_unet_" + theirs[:-len(".weight")].replace(".", "_")
        out[name + ".alpha"] = ()
        out[name + ".lora_down.weight"] = (rank, *shape[1:])
        out[name + ".lora_up.weight"] = (shape[0], rank, *(1 for _ in shape[2:]))
    return out


def shapes_of(module):
    return {k: tuple(v.shape) for k, v in module.state_dict().items()}


def unet(config):
    import torch
    import comfy.model_detection
    model = comfy.model_detection.model_config_from_unet_config(dict(config))
    model.set_inference_dtype(torch.bfloat16, None)
    model.custom_operations = ops()
    with torch.device("meta"):
        tensors = model.get_model({}, "", device="meta").diffusion_model.state_dict()
    found = comfy.model_detection.detect_unet_config(tensors, "")
    if found != config:
        odd = [k for k in {**config, **(found or {})} if config.get(k) != (found or {}).get(k)]
        sys.exit("%s: detected otherwise: %s" % (type(model).__name__, ", ".join(odd)))
    return {k: tuple(v.shape) for k, v in tensors.items()}


def other(build, extra):
    import torch
    with torch.device("meta"):
        shapes = shapes_of(build())
    for name, like in extra.items():
        shapes[name] = shapes[like]
    return shapes


def fold(shapes):
    """Lines of a list: layers that are alike become one line, "blocks.{0-29}.norm.weight 1536"."""
    groups = {}
    for name, shape in shapes.items():
        number = re.search(r"(?<![^._])\d+(?![^._])", name)
        key = (name[:number.start()], name[number.end():], shape) if number else (name, None, shape)
        groups.setdefault(key, []).append(int(number.group()) if number else None)
    for (head, tail, shape), numbers in groups.items():
        size = "x".join(map(str, shape)) or "-"
        if tail is None:
            yield "%s %s" % (head, size)
            continue
        numbers.sort()
        while numbers:
            n = 1
            while n < len(numbers) and numbers[n] == numbers[0] + n:
                n += 1
            some = str(numbers[0]) if n == 1 else "{%d-%d}" % (numbers[0], numbers[0] + n - 1)
            yield "%s%s%s %s" % (head, some, tail, size)
            numbers = numbers[n:]


def write(part, shapes, version):
    count = sum(math.prod(s) for s in shapes.values())
    with open(os.path.join(HERE, part + ".txt"), "w") as f:
        f.write("# %d tensors, %d values; ComfyUI %s\n" % (len(shapes), count, version))
        for line in fold(shapes):
            f.write(line + "\n")
    print("%-18s %5d tensors %12d values" % (part, len(shapes), count), flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tree, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    sys.path.insert(0, tree)
    sys.argv = ["make.py", "--cpu"]
    import comfy.options
    comfy.options.enable_args_parsing()
    import comfyui_version
    parts = {name: lambda c=config: unet(c) for name, config in UNETS.items()}
    parts.update({name: lambda b=build, e=extra: other(b, e) for name, (build, extra) in other_models().items()})
    parts["clip-g.open"] = open_clip
    parts["sd15-lora"] = lambda: lora_of_sd15(64)
    for name, shapes in parts.items():
        if not wanted or name in wanted:
            write(name, shapes(), comfyui_version.__version__)


if __name__ == "__main__":
    main()
