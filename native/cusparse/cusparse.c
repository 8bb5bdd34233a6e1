/* Handles and descriptors without content, versions, errors. */
#include "cusparse.h"
#include "versions.h"

#include "symbols/cusparse_noop.def"
#include "symbols/cusparse_unsupported.def"

#define OBJECT(creator, destroyer, type)                                                                               \
    VEST_EXPORT int creator(void **out) { return create(out, sizeof(type)); }                                          \
    VEST_EXPORT int destroyer(void *object) { return destroy(object); }

OBJECT(cusparseCreate, cusparseDestroy, struct handle)
OBJECT(cusparseCreateMatDescr, cusparseDestroyMatDescr, struct legacy_matrix)
OBJECT(cusparseCreateBsrsv2Info, cusparseDestroyBsrsv2Info, int)
OBJECT(cusparseCreateBsrsm2Info, cusparseDestroyBsrsm2Info, int)
OBJECT(cusparseSpSV_createDescr, cusparseSpSV_destroyDescr, int)
OBJECT(cusparseSpSM_createDescr, cusparseSpSM_destroyDescr, int)
OBJECT(cusparseSpGEMM_createDescr, cusparseSpGEMM_destroyDescr, int)

SETTING(cusparseSetStream, cusparseGetStream, void *, stream)
SETTING(cusparseSetPointerMode, cusparseGetPointerMode, int, pointer_mode)

VEST_EXPORT int cusparseGetVersion(struct handle *handle, int *version)
{
    (void)handle;
    *version = vest_version_number(VEST_CUSPARSE, 1000);
    return SUCCESS;
}

GET_PROPERTY(cusparseGetProperty, VEST_CUSPARSE, INVALID_VALUE)

VEST_EXPORT const char *cusparseGetErrorName(int status)
{
    switch (status) {
    case 0: return "CUSPARSE_STATUS_SUCCESS";
    case 1: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case 2: return "CUSPARSE_STATUS_ALLOC_FAILED";
    case 3: return "CUSPARSE_STATUS_INVALID_VALUE";
    case 10: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "unknown status";
    }
}

VEST_EXPORT const char *cusparseGetErrorString(int status) { return cusparseGetErrorName(status); }
