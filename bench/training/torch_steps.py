"""The steps of steps.py in PyTorch; needs the environment of
bench/onnxruntime/requirements.txt."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnxruntime"))

import steps  # noqa: E402

# The wheel's operators do not load beside torch's build for CPUs alone.
operators = torch.library.Library("torchvision", "DEF")
operators.define("nms(Tensor boxes, Tensor scores, float limit) -> Tensor")
operators.define("qnms(Tensor boxes, Tensor scores, float limit) -> Tensor")

import torchvision  # noqa: E402
import transformers  # noqa: E402
import zoo  # noqa: E402

SEED = 0
IGNORED = -100


def gpt2(batch, length):
    """Predicts the next token. Dropout drops nothing, so that losses can be
    compared."""
    configuration = transformers.GPT2Config(
        use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model, inputs = zoo.decoder(transformers.GPT2LMHeadModel(configuration),
                                batch, length)
    return model, inputs, inputs["input_ids"].clone()


def bert(batch, length):
    """Predicts 15 % of the tokens."""
    configuration = transformers.BertConfig(
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    inputs = zoo.tokens(batch, length, configuration.vocab_size)
    labels = inputs["input_ids"].clone()
    labels[torch.rand(batch, length) > 0.15] = IGNORED
    inputs["attention_mask"] = torch.ones(batch, length, dtype=torch.int64)
    model = transformers.BertForMaskedLM(configuration)
    return zoo.Keywords(model, list(inputs), "logits"), inputs, labels


def resnet(batch):
    """Batch norms use the statistics of the batch, and update the running
    ones."""
    model = torchvision.models.resnet50(weights=None)
    return model, zoo.image(batch), torch.randint(1000, (batch,))


def make(name):
    """The module, in training mode, its inputs by name, and labels."""
    torch.manual_seed(SEED)
    kind, *sizes = steps.NAMES[name]
    model, inputs, labels = {"gpt2": gpt2, "bert": bert,
                             "resnet": resnet}[kind](*sizes)
    # An exporter stores equal weights once, and they would then be trained as one.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1:
                parameter.add_(0.02 * torch.randn_like(parameter))
    return model.train(), inputs, labels


def loss_of(name, logits, labels):
    if steps.NAMES[name][0] == "gpt2":
        logits, labels = logits[:, :-1], labels[:, 1:]
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1),
        ignore_index=IGNORED)


def optimizer_of(name, parameters):
    """As steps.FLAGS; in one pass over all weights, the fastest that there
    is."""
    if steps.NAMES[name][0] == "resnet":
        return torch.optim.SGD(parameters, 1e-3, momentum=0.9, fused=True)
    return torch.optim.AdamW(parameters, 1e-4, weight_decay=0.01, fused=True)
