"""What is measured, by name. Imports nothing: run.py reads it without torch.

A model is a function of zoo.py or handwritten.py and its arguments; a
quantized one is another model and the operators that are quantized (None:
all that onnxruntime.quantization does by itself).
"""

MODELS = {
    "bert-base-b1": ("zoo.bert", 1),
    "bert-base-b8": ("zoo.bert", 8),
    "vit-b16": ("zoo.vision", "vit_base_patch16_224"),
    "swin-t": ("zoo.vision", "swin_tiny_patch4_window7_224"),
    "convnext-t": ("zoo.vision", "convnext_tiny"),
    "mixer-b16": ("zoo.vision", "mixer_b16_224"),
    "whisper-tiny-encoder": ("zoo.whisper_encoder",),
    "resnet50-b1": ("zoo.vision", "resnet50", 1),
    "resnet50-b8": ("zoo.vision", "resnet50", 8),
    "densenet121": ("zoo.vision", "densenet121"),
    "efficientnet-b0": ("zoo.vision", "efficientnet_b0"),
    "mobilenetv2": ("zoo.vision", "mobilenetv2_100"),
    "gpt2-124m-b1": ("zoo.gpt2", 1),
    "gpt2-124m-b8": ("zoo.gpt2", 8),
    "t5-small-encoder": ("zoo.t5_encoder",),
    "llama-160m": ("zoo.llama",),
    "squeezenet": ("zoo.squeezenet",),
    "unet-512": ("handwritten.unet",),
    "dlrm": ("handwritten.dlrm",),
    "vocoder": ("handwritten.vocoder",),
    "spmd-mlp": ("handwritten.spmd_mlp",),
    "spmd-transformer": ("handwritten.spmd_transformer",),
    "spmd-cnn": ("handwritten.spmd_cnn",),
    "tiny-mlp": ("handwritten.tiny_mlp",),
    "tiny-cnn": ("handwritten.tiny_cnn",),
    "tiny-attention": ("handwritten.tiny_attention",),
}

# What bench/gpu exports: of decoders the logits of the last token alone, which
# is what they are run for, and little to bring back to the host.
GPU = {
    "gpt2-124m-b8": ("zoo.gpt2", 8, 512, 1),
    "bert-large-b8": ("zoo.bert", 8, 384, "large"),
    "resnet50-b64": ("zoo.vision", "resnet50", 64),
    "llama-1b": ("zoo.llama_1b", 1, 1024),
}

QUANTIZED = {
    "resnet50-qdq": ("resnet50-b1", None),
    "mobilenetv2-qdq": ("mobilenetv2", None),
    "bert-base-qdq": ("bert-base-b1", ["MatMul", "Gemm"]),
}

# Of which geomeans are taken; the first is the one that targets speak of.
GROUPS = {
    "models": [n for n in [*MODELS, *QUANTIZED]
               if not n.startswith(("tiny-", "spmd-"))],
    "below a millisecond": [n for n in MODELS if n.startswith("tiny-")],
    "beside JAX": [n for n in MODELS if n.startswith("spmd-")],
}
