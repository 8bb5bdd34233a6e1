"""The catalogue of target GPUs: one data file, one record type."""

from veritasest.gpus.catalogue import find, load
from veritasest.gpus.cudnn import cudnn_properties
from veritasest.spec.gpu import GPU

__all__ = ["GPU", "cudnn_properties", "find", "load"]
