"""torch-preflight: what `torch-preflight estimate` does, with everything that its options can say about the job.

A Hugging Face model goes by its architecture, as with `--model NAME --online --flash`: from the tool's own table, or
from the model's config. That formula has the loss of a language model in it. Any other model is an entry point, as
with `--model module:factory`: what its forward pass keeps for backward is measured on the meta device.
"""

import sys
from types import ModuleType

from adapter import Job, NoEstimateError, serve
from torch import nn
from torch_preflight.vram import ModelProfile, OptimizerKind, PrecisionMode, RunConfig, estimate_config, resolve_profile
from torch_preflight.vram.providers import hub
from torch_preflight.vram.providers.static import from_shape

OPTIMIZERS = {"sgdm": "sgd-momentum", "adamw_fused": "adamw", "adamw_loop": "adamw", "nadam": "adamw", "muon": "lion"}
PRECISIONS = {"fp32": "fp32", "bf16": "amp", "fp16": "amp", "pure_bf16": "pure-bf16"}


def frozen_fraction(model: nn.Module) -> float:
    sizes = {p: p.numel() for p in model.parameters()}
    return sum(size for p, size in sizes.items() if not p.requires_grad) / sum(sizes.values())


def configure(job: Job, model: nn.Module) -> RunConfig:
    return RunConfig(
        batch_size=job.batch_size,
        seq_len=job.length,
        image_size=job.first_shape[-1] if len(job.first_shape) == 4 else None,
        precision=PrecisionMode(PRECISIONS[job.precision]),
        optimizer=OptimizerKind(OPTIMIZERS.get(job.optimizer, job.optimizer)),
        gradient_checkpointing=job.checkpointed,
        frozen_fraction=frozen_fraction(model),
        flash_attention=getattr(job.options, "attention", "sdpa") == "sdpa",
    )


def by_architecture(job: Job, model: nn.Module) -> ModelProfile | None:
    """Its table first, then the config with the class that a config of the hub would name."""
    known = resolve_profile(job.options.model)
    if known.resolved:
        return known
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads")  # in every file on the hub
    named = {name: getattr(model.config, name) for name in names if hasattr(model.config, name)}
    shape = hub.shape_from_config({**model.config.to_dict(), **named, "architectures": [type(model).__name__]})
    return from_shape(shape, job.options.model) if shape else None


def by_measuring(job: Job, config: RunConfig) -> ModelProfile:
    """The tool imports a module and calls a function of it; the job's model is put there, in fp32 as the tool wants."""
    module = sys.modules["job_of_the_rivals"] = ModuleType("job_of_the_rivals")
    module.build = lambda: job.build(cast=False)
    return resolve_profile("job_of_the_rivals:build", config=config)


def estimate(job: Job) -> int:
    model = job.build()
    config = configure(job, model)
    profile = by_architecture(job, model) if hasattr(model, "config") else None
    if profile is None:  # what a checkpointed model keeps is measured: nothing is to be taken off for it again
        config = config.replace(gradient_checkpointing=False)
        profile = by_measuring(job, config)
    report = estimate_config(profile, config, gpu="h200", with_remediations=False)
    if not report.profile.resolved:
        raise NoEstimateError(report.profile.reason)
    if not report.breakdown.activations:
        raise NoEstimateError(" ".join(report.notes))
    return report.total - report.breakdown.cuda_context  # the recorded truth is PyTorch's part alone


if __name__ == "__main__":
    serve(estimate, "torch-preflight")
