"""The Python kernels that take the place of PyTorch's CUDA kernels, and call them.

| file | what it holds |
|---|---|
| `registry` | puts a kernel in place for every operator, by its class |
| `compute` | computes the values, or leaves them unknown |
| `reads` | reads of values by the host, and copies between host and device |
| `sizes` | operators whose result's size is counted from values |
| `context` | what all kernels share |
| `inputs` | how well an operator's inputs are known |
| `use_counts` | hides our Python objects from autograd |
| `arguments` | walks arguments and results |
"""
