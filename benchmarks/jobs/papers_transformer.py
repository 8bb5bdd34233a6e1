"""One training run of the Transformer protocol of the xMem paper: a language model of Hugging Face, random weights."""

import argparse

import torch
import transformers as hf
from common import Precision, add_training_options, make_optimizers


def gpt2(layers, width=768, heads=12):
    return hf.GPT2LMHeadModel, hf.GPT2Config(n_layer=layers, n_embd=width, n_head=heads)


def opt(**shape):
    return hf.OPTForCausalLM, hf.OPTConfig(**shape)


def t5(**shape):
    return hf.T5ForConditionalGeneration, hf.T5Config(**shape, decoder_start_token_id=0)


def qwen3(width, inner, layers, heads):
    shape = {"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "head_dim": 128}
    config = hf.Qwen3Config(**shape, num_attention_heads=heads, num_key_value_heads=8, tie_word_embeddings=True)
    return hf.Qwen3ForCausalLM, config


def llama_3b():
    shape = {"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28, "vocab_size": 128256}
    config = hf.LlamaConfig(**shape, num_attention_heads=24, num_key_value_heads=8, tie_word_embeddings=True)
    return hf.LlamaForCausalLM, config


def pythia_1b():
    shape = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 8}
    return hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(**shape, vocab_size=50304)


def gpt_neo_125m():
    kinds = [[["global", "local"], 6]]
    return hf.GPTNeoForCausalLM, hf.GPTNeoConfig(hidden_size=768, num_layers=12, num_heads=12, attention_types=kinds)


OPT_350M = {
    "hidden_size": 1024,
    "ffn_dim": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "word_embed_proj_dim": 512,
    "do_layer_norm_before": False,
}
T5_BASE = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
MODELS = {
    "distilgpt2": lambda: gpt2(6),
    "gpt2": lambda: gpt2(12),
    "cerebras-gpt-111m": lambda: gpt2(10),
    "gpt-neo-125m": gpt_neo_125m,
    "opt-125m": opt,
    "opt-350m": lambda: opt(**OPT_350M),
    "t5-small": t5,
    "t5-base": lambda: t5(**T5_BASE),
    "pythia-1b": pythia_1b,
    "qwen3-0.6b": lambda: qwen3(1024, 3072, 28, 16),
    "qwen3-4b": lambda: qwen3(2560, 9728, 36, 32),
    "llama-3.2-3b": llama_3b,
}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="gpt2")
    parser.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--zero-grad", choices=["start", "backward", "end"], default="start", help="where it stands")
    add_training_options(parser, batch_size=8)
    return parser.parse_args(words)


def build(options):
    architecture, config = MODELS[options.model]()
    return architecture(config)


def batch(options):
    """The keyword inputs of the model."""
    _, config = MODELS[options.model]()
    tokens = torch.randint(config.vocab_size, (options.batch_size, options.length))
    return {"input_ids": tokens, "labels": tokens}


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    with torch.device("cuda"):  # so that the host need not hold the larger ones
        model = build(options).to(precision.dtype).train()
    (optimizer,) = make_optimizers(options.optimizer, model.parameters())
    for _ in range(options.iterations):
        inputs = {name: tensor.cuda() for name, tensor in batch(options).items()}
        if options.zero_grad == "start":
            optimizer.zero_grad()
        with precision.autocast():
            loss = model(**inputs).loss
        if options.zero_grad == "backward":
            optimizer.zero_grad()
        precision.scaler.scale(loss).backward()
        precision.step([optimizer])
        if options.zero_grad == "end":
            optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
