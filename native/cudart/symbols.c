/* Entry points that need no code of their own. */
#include "cudart.h"

#include "symbols/cudart_alias.def"
#include "symbols/cudart_noop.def"
#include "symbols/cudart_unsupported.def"
