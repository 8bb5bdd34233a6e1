"""Values that steer the program: computed where they can be, assumed where they cannot, and said so.

| file           | what |
|----------------|------|
| `engine`, `kernels` | take over the CUDA kernels of PyTorch's operators |
| `operators`    | which operators are watched, and how |
| `contents`     | what device memory holds: real, assumed, or unknown |
| `arrivals`     | what collectives left there |
| `compute`      | runs an operator on the CPU, in device memory |
| `translations` | what operators that only CUDA has mean on the CPU |
| `draws`, `random` | the numbers that the GPU's random generator would give |
| `policy`       | what unknown values are taken for |
| `assume`       | puts them where the program decides |
| `reads`        | writes down where the program read one |
| `modules`      | real values in one submodule |
| `watch`        | puts it all together, as `--values` has it |
"""
