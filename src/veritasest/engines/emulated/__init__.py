"""The emulated CUDA device: the real CUDA build of PyTorch on stand-ins for NVIDIA's libraries.

| module | what it holds |
|---|---|
| `libraries.py` | where the native stand-ins are, and their loading order |
| `environment.py` | the variables that turn a command into one that sees the emulated GPU |
| `support.py` | which PyTorch builds are supported |
| `caches.py` | compiler caches of a run |
| `accounting.py` | device memory shared by the processes of a run |
| `torch_names.py` | PyTorch's private names in use, and what is lost without them |
| `agent/` | what runs inside the user's process |
| `steering/` | values that control the program's flow, computed or assumed inside the user's process |

Parts of this package are imported inside the user's process, so this module loads nothing.
"""
