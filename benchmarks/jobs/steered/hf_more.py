"""More Hugging Face models, for text, speech and images: masks, end tokens, and patches or frames hidden at random."""

import argparse
import json

import torch
import transformers as hf

IGNORED = -100
SPEECH_RATE = 16_000
SMALL = {"hidden_size": 768, "intermediate_size": 2048, "num_attention_heads": 12, "vocab_size": 32000}


def build(name):
    """A model of base shape, or of about 100 million parameters where base is larger, with random weights."""
    if name == "bert":
        return hf.BertForMaskedLM(hf.BertConfig())
    if name == "albert":
        shape = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
        return hf.AlbertForMaskedLM(hf.AlbertConfig(**shape, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1))
    if name == "bart":
        layers = {"encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}
        heads = {"encoder_attention_heads": 12, "decoder_attention_heads": 12}
        return hf.BartForConditionalGeneration(hf.BartConfig(d_model=768, **layers, **heads))
    if name == "gpt2":
        return hf.GPT2LMHeadModel(hf.GPT2Config())
    if name == "llama":
        return hf.LlamaForCausalLM(hf.LlamaConfig(**SMALL, num_hidden_layers=10, num_key_value_heads=4))
    if name == "gemma2":
        window = {"head_dim": 64, "sliding_window": 128, "query_pre_attn_scalar": 64}
        return hf.Gemma2ForCausalLM(hf.Gemma2Config(**SMALL, **window, num_hidden_layers=8, num_key_value_heads=4))
    if name == "phi":
        return hf.PhiForCausalLM(hf.PhiConfig(**SMALL, num_hidden_layers=10))
    if name == "wav2vec2":
        return hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(vocab_size=32, ctc_zero_infinity=True))
    if name == "vit_mae":
        return hf.ViTMAEForPreTraining(hf.ViTMAEConfig())
    return hf.CLIPModel(hf.CLIPConfig())


MODELS = ["bert", "albert", "bart", "gpt2", "llama", "gemma2", "phi", "wav2vec2", "vit_mae", "clip"]


def draw_mask(args, longest):
    """Ones up to each sample's length: all of it, or between a quarter of it and nearly all."""
    lengths = torch.full((args.bs,), longest)
    if args.mask == "padded":
        lengths = torch.randint(longest // 4, longest, (args.bs,))
    return (torch.arange(longest) < lengths[:, None]).long()


def make_text(config, args, longest):
    mask = draw_mask(args, longest)
    tokens = torch.randint(5, config.vocab_size, (args.bs, longest))
    return tokens.masked_fill(mask == 0, getattr(config, "pad_token_id", None) or 0), mask


def make_batch(config, args):
    if args.model == "wav2vec2":
        mask = draw_mask(args, args.speech * SPEECH_RATE)
        words = torch.randint(1, config.vocab_size, (args.bs, 4 * args.speech))
        words[:, 2 * args.speech :] = IGNORED
        return {"input_values": torch.randn(mask.shape) * mask, "attention_mask": mask, "labels": words}
    if args.model == "vit_mae":
        return {"pixel_values": torch.randn(args.bs, 3, config.image_size, config.image_size)}
    if args.model == "clip":
        tokens, mask = make_text(config.text_config, args, config.text_config.max_position_embeddings)
        tokens[torch.arange(args.bs), mask.sum(1) - 1] = config.text_config.eos_token_id
        images = torch.randn(args.bs, 3, config.vision_config.image_size, config.vision_config.image_size)
        return {"input_ids": tokens, "attention_mask": mask, "pixel_values": images}
    tokens, mask = make_text(config, args, args.length)
    return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, IGNORED)}


def train(args):
    hf.set_seed(0)  # numpy's too: it draws the frames that wav2vec2 hides
    model = build(args.model).to(args.device).train()
    if args.checkpoint:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    extra = {"return_loss": True} if args.model == "clip" else {}
    for _ in range(args.iters):
        batch = {key: value.to(args.device) for key, value in make_batch(model.config, args).items()}
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = model(**batch, **extra).loss
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="bert")
    parser.add_argument("--mask", choices=["ones", "padded"], default="ones")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--checkpoint", action="store_true", help="recompute layers in the backward pass")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--length", type=int, default=384, help="of texts")
    parser.add_argument("--speech", type=int, default=6, help="seconds of sound")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
