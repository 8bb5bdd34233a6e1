"""Workspace sizes that CUDA libraries ask for, recorded on a GPU, and the scores of our size models on them."""
