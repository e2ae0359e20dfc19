"""Small models of timm, transformers and torchvision. To train: a module, and the
loss of what is called in its place; to divide (`_logits`): a module and its input."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]
                       / "bench" / "onnxruntime"))
import export  # noqa: F401, E402  (which lets torchvision load)
import timm  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402


def gpt2():
    configuration = transformers.GPT2Config(
        vocab_size=100, n_positions=32, n_embd=64, n_layer=2, n_head=4,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False,
        bos_token_id=0, eos_token_id=0)
    ids = torch.randint(100, (4, 16))
    return (transformers.GPT2LMHeadModel(configuration).train(),
            lambda run: run(input_ids=ids, labels=ids).loss)


def bert():
    configuration = transformers.BertConfig(
        vocab_size=100, hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=128, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0)
    ids, labels = torch.randint(100, (4, 16)), torch.randint(2, (4,))
    return (transformers.BertForSequenceClassification(configuration).train(),
            lambda run: run(input_ids=ids, labels=labels).loss)


def mixtral():
    """Experts: groups of rows, whose sizes are data."""
    configuration = transformers.MixtralConfig(
        vocab_size=100, hidden_size=32, intermediate_size=48,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        num_local_experts=4, use_cache=False)
    ids = torch.randint(100, (4, 16))
    return (transformers.MixtralForCausalLM(configuration).train(),
            lambda run: run(input_ids=ids, labels=ids).loss)


def resnet():
    """Of doubles: batch norms of few images let rounding errors grow."""
    x = torch.randn(8, 3, 64, 64, dtype=torch.float64)
    labels = torch.randint(10, (8,))
    return (torchvision.models.resnet18(num_classes=10).double().train(),
            lambda run: torch.nn.functional.cross_entropy(run(x), labels))


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


def gpt2_logits():
    configuration = transformers.GPT2Config(
        vocab_size=128, n_positions=32, n_embd=64, n_layer=2, n_head=4,
        use_cache=False, bos_token_id=0, eos_token_id=0)
    return (Logits(transformers.GPT2LMHeadModel(configuration)).eval(),
            torch.randint(100, (4, 16)))


def llama_logits():
    configuration = transformers.LlamaConfig(
        vocab_size=128, hidden_size=64, intermediate_size=96,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
        bos_token_id=0, eos_token_id=0)
    return (Logits(transformers.LlamaForCausalLM(configuration)).eval(),
            torch.randint(100, (4, 16)))


def vit_logits():
    return (timm.create_model("vit_tiny_patch16_224", pretrained=False, depth=2,
                              embed_dim=64, num_heads=4, img_size=64,
                              num_classes=16).eval(),
            torch.randn(4, 3, 64, 64))


class Windows(torch.nn.Module):
    """Depthwise convolutions, and attention by products of activations, with a table
    that a buffer of integers has the indices of."""

    def __init__(self):
        super().__init__()
        self.patches = torch.nn.Conv2d(3, 64, 4, 4)
        self.deep = torch.nn.Conv2d(64, 64, 3, padding=1, groups=64)
        self.norm = torch.nn.LayerNorm(64)
        self.q, self.k, self.v, self.out = (
            torch.nn.Linear(64, 64, bias=False) for _ in range(4))
        self.table = torch.nn.Parameter(torch.randn(31, 4))
        self.register_buffer("index", torch.arange(16)[:, None]
                             - torch.arange(16)[None, :] + 15)
        self.head = torch.nn.Linear(64, 16)

    def forward(self, x):
        x = self.patches(x)
        x = (x + self.deep(x)).flatten(2).transpose(1, 2)
        y = self.norm(x)
        q, k, v = (each(y).unflatten(-1, (4, 16)).transpose(1, 2)
                   for each in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / 4
        scores = scores + self.table[self.index].permute(2, 0, 1)
        y = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return self.head(x + self.out(y))


def windows_logits():
    return Windows().eval(), torch.randn(4, 3, 16, 16)
