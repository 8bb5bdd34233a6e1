"""Tests of what parts of the project promise each other, and users."""

from scripted_jobs import emulated_engine, fake_torch, job, workspace

__all__ = ["emulated_engine", "fake_torch", "job", "workspace"]
