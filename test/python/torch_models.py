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
