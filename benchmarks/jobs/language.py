"""Train a language model of Hugging Face from random weights: decoder, encoder, encoder-decoder or state space."""

import argparse

import torch
import transformers as hf
from common import Precision, add_training_options, make_optimizers
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def llama(width, layers, heads, groups):
    shape = {"hidden_size": width, "intermediate_size": width * 8 // 3 // 64 * 64, "num_hidden_layers": layers}
    return hf.LlamaForCausalLM, hf.LlamaConfig(**shape, num_attention_heads=heads, num_key_value_heads=groups)


def bert_shape(width, layers):
    shape = {"hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": layers}
    return {**shape, "num_attention_heads": width // 64}


def bert(width, layers):
    return hf.BertForMaskedLM, hf.BertConfig(**bert_shape(width, layers))


def roberta(width, layers):
    return hf.RobertaForMaskedLM, hf.RobertaConfig(**bert_shape(width, layers), vocab_size=50265)


def deberta(width, layers):
    relative = {"relative_attention": True, "position_buckets": 256, "pos_att_type": ["p2c", "c2p"]}
    config = hf.DebertaV2Config(**bert_shape(width, layers), **relative, norm_rel_ebd="layer_norm", share_att_key=True)
    return hf.DebertaV2ForMaskedLM, config


def bart(width, layers):
    sides = {"encoder": layers, "decoder": layers}
    shape = {f"{side}_layers": count for side, count in sides.items()}
    shape |= {f"{side}_ffn_dim": 4 * width for side in sides} | {
        f"{side}_attention_heads": width // 64 for side in sides
    }
    return hf.BartForConditionalGeneration, hf.BartConfig(d_model=width, **shape)


def t5(width, layers, heads):
    shape = {"d_model": width, "d_ff": 4 * width, "num_layers": layers, "num_heads": heads}
    return hf.T5ForConditionalGeneration, hf.T5Config(**shape, decoder_start_token_id=0)


def mamba(width, layers):
    return hf.MambaForCausalLM, hf.MambaConfig(hidden_size=width, num_hidden_layers=layers, vocab_size=32000)


def mamba2(width, layers):
    shape = {"hidden_size": width, "num_hidden_layers": layers, "num_heads": 2 * width // 64, "head_dim": 64}
    config = hf.Mamba2Config(**shape, n_groups=1, state_size=64, chunk_size=64, vocab_size=32000)
    return hf.Mamba2ForCausalLM, config


MODELS = {
    "llama-150m": lambda: llama(768, 14, 12, 12),
    "llama-250m": lambda: llama(1024, 16, 16, 4),
    "llama-400m": lambda: llama(1024, 28, 16, 8),
    "bert-base": lambda: bert(768, 12),
    "bert-large": lambda: bert(1024, 24),
    "roberta-base": lambda: roberta(768, 12),
    "deberta-small": lambda: deberta(768, 6),
    "deberta-base": lambda: deberta(768, 12),
    "bart-base": lambda: bart(768, 6),
    "bart-large": lambda: bart(1024, 12),
    "t5-small": lambda: t5(512, 6, 8),
    "t5-base": lambda: t5(768, 12, 12),
    "mamba-2": lambda: mamba(512, 2),
    "mamba-4": lambda: mamba(768, 4),
    "mamba2-2": lambda: mamba2(512, 2),
    "mamba2-6": lambda: mamba2(768, 6),
}
MADE_ON_THE_HOST = (
    "llama-150m",
    "bert-base",
    "roberta-base",
    "deberta-small",
    "bart-base",
    "t5-small",
    "mamba-2",
    "mamba2-2",
)
# Query and value in each family's words; the state-space models have one projection in front instead.
ADAPTED = ("q_proj", "v_proj", "query", "value", "query_proj", "value_proj", "q", "v", "in_proj")


class Lora(nn.Module):
    """A frozen linear layer and a trained low-rank correction of it."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = 16 / rank

    @property
    def weight(self):  # some models look at the type of their projections' weights
        return self.base.weight

    def forward(self, x):
        return self.base(x) + (x @ self.down.t() @ self.up.t()) * self.scale


def add_lora(model, rank):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name in ADAPTED:
                setattr(module, name, Lora(child, rank))


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="llama-150m")
    parser.add_argument("--mode", choices=["full", "lora", "checkpointed", "compiled"], default="full")
    parser.add_argument("--rank", type=int, default=8, help="of the LoRA adapters")
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    parser.add_argument("--length", type=int, default=512, help="tokens of a sequence")
    parser.add_argument("--zero-grad", choices=["start", "backward", "end", "zero"], default="start")
    parser.add_argument("--accumulate", type=int, default=1, help="batches of an optimizer step")
    parser.add_argument("--clip", action="store_true", help="clip the norm of the gradients")
    parser.add_argument("--ema", action="store_true", help="keep a moving average of the weights")
    parser.add_argument("--evaluate", action="store_true", help="two epochs, and a pass without gradients in between")
    add_training_options(parser, batch_size=8)
    return parser.parse_args(words)


def configure(options):
    architecture, config = MODELS[options.model]()
    if hasattr(config, "max_position_embeddings"):
        config.max_position_embeddings = max(config.max_position_embeddings, options.length + 2)
    if not options.model.startswith(("deberta", "mamba")):  # these have one attention only, or none
        config._attn_implementation = options.attention
    return architecture, config


def build(options):
    architecture, config = configure(options)
    model = architecture(config)
    if options.mode == "lora":
        add_lora(model, options.rank)
    if options.mode == "checkpointed":
        model.gradient_checkpointing_enable()
    return model


def batch(options):
    """The keyword inputs of the model."""
    _, config = MODELS[options.model]()
    tokens = torch.randint(2, config.vocab_size, (options.batch_size, options.length))
    return {"input_ids": tokens, "labels": tokens}


def on_gpu(options):
    return {name: tensor.cuda() for name, tensor in batch(options).items()}


def train_epoch(model, optimizers, precision, options, average=None):
    def zero_grad(places):
        if options.zero_grad in places:
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=options.zero_grad != "zero")

    for _ in range(options.iterations):
        zero_grad(("start", "zero"))
        for part in range(options.accumulate):
            inputs = on_gpu(options)
            with precision.autocast():
                loss = model(**inputs).loss / options.accumulate
            if part == 0:
                zero_grad(("backward",))
            precision.scaler.scale(loss).backward()
        if options.clip:
            for optimizer in optimizers:
                precision.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        precision.step(optimizers)
        if average is not None:
            average.update_parameters(model)
        zero_grad(("end",))
    return loss.item() * options.accumulate


def evaluate(model, precision, options):
    model.eval()
    with torch.no_grad(), precision.autocast():
        total = sum(model(**on_gpu(options)).loss for _ in range(2))
    model.train()
    return total.item() / 2


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    with torch.device("cpu" if options.model in MADE_ON_THE_HOST else "cuda"):
        model = build(options)
    model = model.to("cuda", precision.dtype).train()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999)) if options.ema else None
    optimizers = make_optimizers(options.optimizer, model.parameters())
    if options.mode == "compiled":
        model = torch.compile(model)
    loss = train_epoch(model, optimizers, precision, options, average)
    if options.evaluate:
        print(f"held out {evaluate(model if average is None else average.module, precision, options):.3f}")
        loss = train_epoch(model, optimizers, precision, options, average)
    print(f"loss {loss:.3f}")


if __name__ == "__main__":
    main()
