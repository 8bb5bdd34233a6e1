"""The catalogue of target GPUs: one data file of GPUs, one of what follows from the compute capability."""

from veritasest.gpus.catalogue import find, load, user_file
from veritasest.gpus.cudnn import cudnn_properties
from veritasest.spec.gpu import GPU

__all__ = ["GPU", "cudnn_properties", "find", "load", "user_file"]
