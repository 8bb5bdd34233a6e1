"""Estimates of the recorded jobs on this machine, without a GPU."""
