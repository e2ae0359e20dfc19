"""Small models of transformers and torchvision, to train: a module, and the loss of
what is called in its place."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]
                       / "bench" / "onnxruntime"))
import export  # noqa: F401, E402  (which lets torchvision load)
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


def resnet():
    x, labels = torch.randn(8, 3, 64, 64), torch.randint(10, (8,))
    return (torchvision.models.resnet18(num_classes=10).train(),
            lambda run: torch.nn.functional.cross_entropy(run(x), labels))
