/* Copies and fills: addresses say which side is the device. */
#include "cudart.h"

static int copy(void *to, const void *from, size_t bytes)
{
    vest_copy(to, from, bytes);
    return SUCCESS;
}

static int copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        vest_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return SUCCESS;
}

static int fill(void *to, int value, size_t bytes)
{
    vest_fill(to, &(char){(char)value}, 1, bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    vest_copy_waited(to, from);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream)
{
    (void)kind;
    vest_copy_issued(to, from, stream);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device, (void)from_device;
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                    stream_t stream)
{
    (void)to_device, (void)from_device;
    vest_copy_issued(to, from, stream);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, int kind)
{
    (void)kind;
    vest_copy_waited(to, from);
    return copy_2d(to, to_pitch, from, from_pitch, width, height);
}

VEST_EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                  size_t height, int kind, stream_t stream)
{
    (void)kind;
    vest_copy_issued(to, from, stream);
    return copy_2d(to, to_pitch, from, from_pitch, width, height);
}

VEST_EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        copy(to[i], from[i], bytes[i]);
    return SUCCESS;
}

/* A device variable's address is that of its host shadow, which the compiler makes as large. */
VEST_EXPORT int cudaGetSymbolAddress(void **out, const void *symbol)
{
    *out = (void *)symbol;
    return SUCCESS;
}

VEST_EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    (void)kind;
    vest_copy_waited(symbol, from);
    return copy((char *)symbol + offset, from, bytes);
}

VEST_EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

VEST_EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    (void)kind;
    vest_copy_waited(to, symbol);
    return copy(to, (const char *)symbol + offset, bytes);
}

VEST_EXPORT int cudaMemset(void *to, int value, size_t bytes) { return fill(to, value, bytes); }
VEST_EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, stream_t stream)
{
    vest_use_stream(stream);
    vest_issue();
    return fill(to, value, bytes);
}

VEST_EXPORT int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        fill((char *)to + row * pitch, value, width);
    return SUCCESS;
}

VEST_EXPORT int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2D(to, pitch, value, width, height);
}
