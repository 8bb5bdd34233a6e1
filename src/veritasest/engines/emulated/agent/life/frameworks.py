"""Training frameworks whose loops are not the user's: their own schedules, brought forward.

| framework | what is done |
|---|---|
| HF Trainer | evaluation and saving every N steps happen once the peak has settled; the last stage ends the training |
| Lightning | batches that were left out count as run, so that validation comes where the epoch ends; likewise |
| Ignite | an epoch is as long as the batches that are left |

accelerate needs nothing: its loaders hand on what PyTorch's give. Finders (batch size, learning rate) are loops like
others: they run as they are, and go on while the peak grows.
"""

from __future__ import annotations

import sys
from functools import wraps
from types import FrameType, ModuleType
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded
from veritasest.engines.emulated.agent.imports import after_import
from veritasest.engines.emulated.agent.life import frame_reader
from veritasest.engines.emulated.agent.life.control import NotReached
from veritasest.engines.emulated.agent.life.pace import Pace
from veritasest.spec.enums import Stage


class Frameworks:
    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._done: set[str] = set()  # of the Trainer's schedule
        self._planned: dict[str, str] = {}
        self._reader: frame_reader.FrameReader | None = None

    def install(self) -> None:
        after_import("transformers.trainer_callback", self._watch_trainer)

    def skip(self, count: int) -> None:
        """`count` batches of the epoch under way were left out."""
        for frame in self._frames():
            loop = self._variable(frame, "self")
            kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
            if kind.endswith("lightning.pytorch.loops.training_epoch_loop._TrainingEpochLoop") or kind.startswith(
                "pytorch_lightning.loops.training_epoch_loop._TrainingEpochLoop"
            ):
                progress = loop.batch_progress.current
                for name in ("ready", "started", "processed", "completed"):
                    setattr(progress, name, getattr(progress, name) + count)
                fetcher = self._variable(frame, "data_fetcher")
                if fetcher is not None:
                    fetcher.fetched += count
                return
            if kind == "ignite.engine.engine.Engine" and loop.state.epoch_length:
                loop.state.epoch_length -= min(count, loop.state.epoch_length - 1)
                return

    def leave(self) -> bool:
        """Lets the framework end its training; whether there is one on the stack."""
        for frame in self._frames():
            trainer: Any = getattr(self._variable(frame, "self"), "trainer", None)
            if type(trainer).__module__.split(".")[0] in ("lightning", "pytorch_lightning"):
                trainer.should_stop = True
                return True
        return "training" in self._planned

    def not_reached(self) -> list[NotReached]:
        return [
            NotReached(what=text, file="transformers.Trainer", line=0)
            for what, text in self._planned.items()
            if what not in self._done and what != "training"
        ]

    def _watch_trainer(self, module: ModuleType) -> None:
        kind: Any = module.DefaultFlowCallback
        original = kind.on_step_end

        @wraps(original)
        def on_step_end(callback: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
            control = original(callback, args, state, control, **kwargs)
            self._advance_trainer(args, state, control)
            return control

        kind.on_step_end = on_step_end

    @guarded("the Trainer's schedule")
    def _advance_trainer(self, args: Any, state: Any, control: Any) -> None:
        self._planned["training"] = "training"
        for what, strategy, every in (
            ("evaluate", args.eval_strategy, state.eval_steps),
            ("save", args.save_strategy, state.save_steps),
        ):
            if getattr(strategy, "value", strategy) != "steps" or not every:
                continue
            self._planned[what] = f"Trainer: {what} every {every} steps"
            if getattr(control, f"should_{what}"):
                self._done.add(what)
            elif self._pace.stage in (Stage.FORWARD, Stage.LEAVING) and what not in self._done:
                setattr(control, f"should_{what}", True)
                self._done.add(what)
        if self._pace.stage is Stage.LEAVING:
            control.should_training_stop = True

    def _frames(self) -> list[FrameType]:
        found = []
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            found.append(frame)
            frame = frame.f_back
        return found

    def _variable(self, frame: FrameType, name: str) -> Any:
        if name not in frame.f_code.co_varnames or not frame_reader.is_supported():
            return None
        if self._reader is None:
            self._reader = frame_reader.FrameReader()
        try:
            return self._reader.variable(frame, name)
        except KeyError:
            return None
