/* The stand-ins, called as a program would call the real libraries: every output filled, every setting returned.
 *
 * Usage: test_stubs FOLDER MAJOR, with FOLDER holding the built libraries and MAJOR the CUDA major version to test.
 */
#include "test_stubs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static int major;

static void *open_library(const char *format, int number)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, format, number);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static void *open_cuda(const char *stem, int number)
{
    char format[64];
    snprintf(format, sizeof format, "cu%d/lib%s.so.%%d", major, stem);
    return open_library(format, number);
}

any_call find(void *library, const char *name)
{
    any_call call;
    *(void **)&call = dlsym(library, name);
    if (!call) {
        fprintf(stderr, "%s: no such entry point\n", name);
        exit(1);
    }
    return call;
}

static void cublas_remembers_its_settings(void *library)
{
    void *handle = NULL, *stream = NULL;
    int mode = -1, version = 0;
    assert(find(library, "cublasCreate_v2")(&handle) == 0 && handle);
    assert(find(library, "cublasGetPointerMode_v2")(handle, &mode) == 0 && mode == 0);
    assert(find(library, "cublasSetPointerMode_v2")(handle, 1) == 0);
    assert(find(library, "cublasGetPointerMode_v2")(handle, &mode) == 0 && mode == 1);
    assert(find(library, "cublasSetMathMode")(handle, 3) == 0);
    assert(find(library, "cublasGetMathMode")(handle, &mode) == 0 && mode == 3);
    assert(find(library, "cublasSetStream_v2")(handle, (void *)0x20) == 0);
    assert(find(library, "cublasGetStream_v2")(handle, &stream) == 0 && stream == (void *)0x20);
    assert(find(library, "cublasGetVersion_v2")(handle, &version) == 0 && version / 10000 == major);
    assert(find(library, "cublasGetPointerMode_v2")(NULL, &mode) == 1); /* NOT_INITIALIZED */
    assert(find(library, "cublasDestroy_v2")(handle) == 0);
}

static void cublas_zeroes_results_on_the_host_only(void *library)
{
    float on_host = 7;
    float *on_device = vest_alloc(0, 512), seven = 7, back = 0;
    int index = 7, info = 7;
    vest_copy(on_device, &seven, sizeof seven);
    assert(find(library, "cublasSdot_v2")(NULL, 4, on_device, 1, on_device, 1, &on_host) == 0 && on_host == 0);
    assert(find(library, "cublasSdot_v2")(NULL, 4, on_device, 1, on_device, 1, on_device) == 0);
    vest_copy(&back, on_device, sizeof back);
    assert(back == 7);
    assert(find(library, "cublasIsamax_v2")(NULL, 4, on_device, 1, &index) == 0 && index == 0);
    assert(find(library, "cublasSgeqrfBatched")(NULL, 2, 2, on_device, 2, on_device, &info, 1) == 0 && info == 0);
    assert(vest_free(on_device));
}

static void cublas_copies_columns(void *library)
{
    /* A 2 x 2 corner of a 3-row host matrix, packed on the device: columns (1, 2) and (4, 5). */
    const float host[6] = {1, 2, 3, 4, 5, 6};
    float back[4] = {0}, *device = vest_alloc(0, 512);
    assert(find(library, "cublasSetMatrix")(2, 2, 4, host, 3, device, 2) == 0);
    assert(find(library, "cublasGetVector")(4, 4, device, 1, back, 1) == 0);
    assert(back[0] == 1 && back[1] == 2 && back[2] == 4 && back[3] == 5);
    assert(vest_free(device));
}

static void unsupported_entry_points_are_refused(void *library)
{
    assert(find(library, "cublasXtCreate")(NULL) == 15); /* CUBLAS_STATUS_NOT_SUPPORTED */
    assert(find(library, "cublasSgemm_v2")(NULL) == 0);
}

struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

static void cublaslt_finds_one_algorithm(void *library)
{
    void *product, *layout, *preference;
    struct heuristic result;
    int found = 0, compute = 0;
    size_t written = 0, workspace = 1 << 20, back = 0;
    uint64_t rows = 0;
    assert(find(library, "cublasLtMatmulDescCreate")(&product, 68, 0) == 0);
    assert(find(library, "cublasLtMatrixLayoutCreate")(&layout, 0, (uint64_t)5, (uint64_t)6, (int64_t)5) == 0);
    assert(find(library, "cublasLtMatmulPreferenceCreate")(&preference) == 0);
    assert(find(library, "cublasLtMatmulDescGetAttribute")(product, 0, &compute, sizeof compute, &written) == 0);
    assert(compute == 68 && written == sizeof compute);
    assert(find(library, "cublasLtMatrixLayoutGetAttribute")(layout, 2, &rows, sizeof rows, &written) == 0);
    assert(rows == 5);
    assert(find(library, "cublasLtMatmulPreferenceSetAttribute")(preference, 1, &workspace, sizeof workspace) == 0);
    assert(find(library, "cublasLtMatmulPreferenceGetAttribute")(preference, 1, &back, sizeof back, NULL) == 0);
    assert(back == workspace);
    memset(&result, 0xff, sizeof result);
    assert(find(library, "cublasLtMatmulAlgoGetHeuristic")(NULL, product, layout, layout, layout, layout, preference,
                                                           1, &result, &found) == 0);
    assert(found == 1 && result.workspace_bytes == 0 && result.state == 0 && result.waves == 1.0f);
    find(library, "cublasLtMatmulDescDestroy")(product);
    find(library, "cublasLtMatrixLayoutDestroy")(layout);
    find(library, "cublasLtMatmulPreferenceDestroy")(preference);
}

/* Each attribute has a place of its own inside the 256 bytes the caller may have reserved. */
static void cublaslt_attributes_do_not_overlap(void *library)
{
    static const int pointers[] = {8, 11, 17, 18, 19, 20, 21, 23, 24, 36, 38}, modes[] = {31, 32, 33, 34, 35, 37};
    uint64_t guarded[33];
    guarded[32] = 0x5afe;
    assert(find(library, "cublasLtMatmulDescInit_internal")(guarded, (size_t)256, 68, 0) == 0);
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        uint64_t value = 0x100000000u + (uint64_t)pointers[i];
        assert(find(library, "cublasLtMatmulDescSetAttribute")(guarded, pointers[i], &value, sizeof value) == 0);
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        assert(find(library, "cublasLtMatmulDescSetAttribute")(guarded, modes[i], &modes[i], sizeof modes[i]) == 0);
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        uint64_t value = 0;
        assert(find(library, "cublasLtMatmulDescGetAttribute")(guarded, pointers[i], &value, sizeof value, NULL) == 0);
        assert(value == 0x100000000u + (uint64_t)pointers[i]);
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int value = 0;
        assert(find(library, "cublasLtMatmulDescGetAttribute")(guarded, modes[i], &value, sizeof value, NULL) == 0);
        assert(value == modes[i]);
    }
    assert(guarded[32] == 0x5afe);
}

static size_t fft_work_bytes(void *library, int rank, long long *n, long long batch)
{
    int plan = 0;
    size_t work = ~(size_t)0, again = 0;
    assert(find(library, "cufftCreate")(&plan) == 0 && plan > 0);
    assert(find(library, "cufftSetAutoAllocation")(plan, 0) == 0);
    long long one = 1;
    assert(find(library, "cufftXtMakePlanMany")(plan, rank, n, NULL, one, one, 4, NULL, one, one, 4, batch, &work, 4) ==
           0);
    assert(find(library, "cufftGetSize")(plan, &again) == 0 && again == work);
    assert(find(library, "cufftDestroy")(plan) == 0);
    assert(find(library, "cufftDestroy")(plan) == 1); /* INVALID_PLAN */
    return work;
}

static void cufft_work_areas_are_those_recorded_on_a_gpu(void *library)
{
    assert(fft_work_bytes(library, 1, (long long[]){1024}, 10) == 0);
    assert(fft_work_bytes(library, 2, (long long[]){64, 64}, 2) == 0);
    assert(fft_work_bytes(library, 2, (long long[]){1080, 1000}, 13) == 13 * 1080 * 1000 * 8);
    /* 8209 is prime: two signals of 16875 points, the 5-smooth length that holds 2 * 8209 - 1, on 1024 bytes each. */
    assert(fft_work_bytes(library, 1, (long long[]){8209}, 1) == 2 * 132 * 1024);
}

static void cusolver_sizes_are_filled_and_info_is_zero(void *library)
{
    void *handle, *parameters;
    int count = -1, seven = 7, back = -1, *info = vest_alloc(0, 512);
    size_t on_device = 0, on_host = 7;
    assert(find(library, "cusolverDnCreate")(&handle) == 0 && handle);
    assert(find(library, "cusolverDnCreateParams")(&parameters) == 0);
    assert(find(library, "cusolverDnSpotrf_bufferSize")(handle, 0, 100, NULL, 100, &count) == 0);
    assert(count == 48); /* 32 + 4 * 4 flags of 32 x 32 tiles */
    int64_t n = 100;
    assert(find(library, "cusolverDnXsyevd_bufferSize")(handle, parameters, 1, 0, n, 0, NULL, n, 0, NULL, 0,
                                                        &on_device, &on_host) == 0);
    assert(on_device == 689772 && on_host == 0);
    vest_copy(info, &seven, sizeof seven);
    assert(find(library, "cusolverDnSpotrf")(handle, 0, 100, NULL, 100, NULL, count, info) == 0);
    vest_copy(&back, info, sizeof back);
    assert(back == 0);
    assert(find(library, "cusolverSpScsrlsvqr")(NULL) == 9); /* CUSOLVER_STATUS_NOT_SUPPORTED */
    find(library, "cusolverDnDestroyParams")(parameters);
    find(library, "cusolverDnDestroy")(handle);
    assert(vest_free(info));
}

static void cusparse_matrices_keep_their_shape(void *library)
{
    void *matrix, *vector;
    int64_t three = 3, four = 4, five = 5, rows = 0, cols = 0, entries = 0;
    size_t bytes = ~(size_t)0;
    assert(find(library, "cusparseCreateCsr")(&matrix, three, four, five, NULL, NULL, NULL, 2, 2, 0, 0) == 0);
    assert(find(library, "cusparseCreateDnVec")(&vector, four, NULL, 0) == 0);
    assert(find(library, "cusparseSpMatGetSize")(matrix, &rows, &cols, &entries) == 0);
    assert(rows == 3 && cols == 4 && entries == 5);
    assert(find(library, "cusparseSpMV_bufferSize")(NULL, 0, NULL, matrix, vector, NULL, vector, 0, 0, &bytes) == 0);
    assert(bytes == 4 * 2 + 3); /* where one block starts and ends, and alignment */
    find(library, "cusparseDestroyDnVec")(vector);
    find(library, "cusparseDestroySpMat")(matrix);
}

static void curand_creates_generators(void *library)
{
    void *generator = NULL;
    int version = 0;
    assert(find(library, "curandCreateGenerator")(&generator, 100) == 0 && generator);
    assert(find(library, "curandGetVersion")(&version) == 0 && version / 1000 == 10);
    assert(find(library, "curandDestroyGenerator")(generator) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FOLDER MAJOR\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    major = atoi(argv[2]);
    void *cublas = open_cuda("cublas", major), *lt = open_cuda("cublasLt", major);
    cublas_remembers_its_settings(cublas);
    cublas_zeroes_results_on_the_host_only(cublas);
    cublas_copies_columns(cublas);
    unsupported_entry_points_are_refused(cublas);
    cublaslt_finds_one_algorithm(lt);
    cublaslt_attributes_do_not_overlap(lt);
    cufft_work_areas_are_those_recorded_on_a_gpu(open_cuda("cufft", major - 1));
    cusolver_sizes_are_filled_and_info_is_zero(open_cuda("cusolver", major - 1));
    cusparse_matrices_keep_their_shape(open_cuda("cusparse", 12));
    curand_creates_generators(open_cuda("curand", 10));
    test_nccl(open_library("libnccl.so.%d", 2));
    test_nvml(open_library("libnvidia-ml.so.%d", 1));
    return 0;
}
