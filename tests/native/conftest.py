"""Tests that need the compiled device, but not PyTorch."""

from scripted_jobs import emulated_engine, fake_torch, job, workspace

__all__ = ["emulated_engine", "fake_torch", "job", "workspace"]
