/* Entry points that need no code of their own. */
#include "cuda.h"

#include "symbols/cuda_alias.def"
#include "symbols/cuda_noop.def"
#include "symbols/cuda_unsupported.def"
