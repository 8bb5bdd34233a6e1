"""Scores of the estimates against the recorded truth: figures, tables and plots."""
