"""The models that the benchmark exports: shapes that people run, no weights.

Each function makes a torch module and named inputs; names.py says which are
called, and how. Weights are random, so that nothing is downloaded.
"""

import timm
import torch
import torchvision
import transformers


def image(batch, size=224):
    return {"x": torch.randn(batch, 3, size, size)}


def tokens(batch, length, vocabulary):
    return {"input_ids": torch.randint(vocabulary, (batch, length))}


class Keywords(torch.nn.Module):
    """A module of transformers, called by position, that gives one tensor."""

    def __init__(self, model, names, output, **fixed):
        super().__init__()
        self.model, self.names = model, names
        self.output, self.fixed = output, fixed

    def forward(self, *arguments):
        result = self.model(**dict(zip(self.names, arguments)), **self.fixed)
        return getattr(result, self.output)


def vision(name, batch=1):
    return timm.create_model(name, pretrained=False), image(batch)


def squeezenet():
    return torchvision.models.squeezenet1_1(weights=None), image(1)


BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24,
              "num_attention_heads": 16, "intermediate_size": 4096}


def bert(batch, length=128, size="base"):
    configuration = transformers.BertConfig(
        **(BERT_LARGE if size == "large" else {}))
    inputs = tokens(batch, length, configuration.vocab_size)
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[-1, length - length // 4:] = 0
    inputs["attention_mask"] = mask
    model = transformers.BertModel(configuration)
    return Keywords(model, list(inputs), "last_hidden_state"), inputs


def decoder(model, batch, length, kept=0):
    """`kept`: the logits of so many tokens, the last ones; 0: of all."""
    inputs = tokens(batch, length, model.config.vocab_size)
    fixed = {"logits_to_keep": kept} if kept else {}
    return Keywords(model, list(inputs), "logits", use_cache=False,
                    **fixed), inputs


def gpt2(batch, length=128, kept=0):
    configuration = transformers.GPT2Config(use_cache=False)
    return decoder(transformers.GPT2LMHeadModel(configuration), batch, length,
                   kept)


def llama(batch=1, length=128):
    configuration = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=3072,
        num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=12)
    return decoder(transformers.LlamaForCausalLM(configuration), batch, length)


def llama_1b(batch, length, **smaller):
    """As TinyLlama's; `smaller` of its sizes for a test."""
    configuration = transformers.LlamaConfig(**{
        "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 22, "num_attention_heads": 32,
        "num_key_value_heads": 4, **smaller})
    return decoder(transformers.LlamaForCausalLM(configuration), batch, length,
                   1)


def t5_encoder(batch=1, length=128):
    configuration = transformers.T5Config(
        d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8)
    # Its other attention does not pass torch.export's decompositions.
    configuration._attn_implementation = "eager"
    inputs = tokens(batch, length, configuration.vocab_size)
    model = transformers.T5EncoderModel(configuration)
    return Keywords(model, list(inputs), "last_hidden_state"), inputs


def whisper_encoder():
    configuration = transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6,
        encoder_ffn_dim=1536)
    model = transformers.WhisperModel(configuration).get_encoder()
    inputs = {"input_features": torch.randn(1, 80, 3000)}
    return Keywords(model, list(inputs), "last_hidden_state"), inputs
