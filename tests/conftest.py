"""Puts this folder on the import path: `prerequisites` is shared by all tests."""
