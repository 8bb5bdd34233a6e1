/* The stand-in for cuSOLVER: dense factorisations do nothing and report success.
 *
 * `info` on the device is set to 0 ("no error"), because PyTorch reads it back and raises on anything else.
 */
#ifndef VEST_CUSOLVER_H
#define VEST_CUSOLVER_H

#define VEST_LIBRARY "cusolver"
#define VEST_REFUSAL 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "round.h"
#include "stub.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

/* Bytes of an element by letter, and by cudaDataType: CUDA_R_32F 0, CUDA_C_64F 5, CUDA_R_64F 1 or C_32F 4. */
enum { S_BYTES = 4, D_BYTES = 8, C_BYTES = 8, Z_BYTES = 16 };
enum { S_COMPLEX = 0, D_COMPLEX = 0, C_COMPLEX = 1, Z_COMPLEX = 1 };
enum { S_SINGLE = 1, D_SINGLE = 0, C_SINGLE = 1, Z_SINGLE = 0 };
static inline int64_t element_bytes(int data_type) { return data_type == 0 ? 4 : data_type == 5 ? 16 : 8; }

/* Workspaces, in bytes or elements; see workspaces.c. */
int64_t potrf_bytes(bool upper, int64_t n, int64_t element);
int64_t getrf_bytes(int64_t m, int64_t n, int64_t element);
bool getrf_known(int64_t m);
int64_t geqrf_elements(int64_t n);
int64_t sytrf_elements(int64_t n, int64_t element);
int64_t orgqr_elements(int64_t m, int64_t n, int64_t k);
int64_t ormqr_elements(bool left, int64_t m, int64_t n, int64_t k);
int64_t eigen_elements(int64_t n, int64_t batch);
int64_t jacobi_elements(int64_t n);
int64_t batched_jacobi_elements(int64_t n, int64_t batch);
bool below_4096_known(int64_t n);
int64_t svd_elements(int64_t m, int64_t n);
int64_t jacobi_svd_elements(bool full, int64_t m, int64_t n);
int64_t gram_svd_elements(int64_t m, int64_t n, int64_t batch, bool is_complex, bool single);
int64_t geev_bytes(int64_t n, int64_t element, bool is_complex);

/* Answers with a workspace: exact if a call like this one was recorded, else a guess. The generic interface counts
 * bytes, and host memory separately. */
int answer(const char *name, int64_t largest_side, bool known, int64_t elements, int *count);
int answer_bytes(const char *name, int64_t largest_side, int64_t bytes, size_t *on_device, size_t *on_host);

int no_errors(int *info, int64_t count);

#define IGNORE_MATRIX (void)handle, (void)a, (void)lda

#endif
