"""What runs on a machine with a CUDA GPU to record the truth that estimates are compared with."""
