"""Engines: each turns a job into a trace. Imported inside the user's process too, so this module loads nothing."""
