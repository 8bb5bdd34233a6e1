/* Long runs of zeros are written as holes.
 *
 * Weights that were never computed read as zeros, and a job that saves gigabytes of them would wait for the disk. The
 * file has the same content and length either way. Only for large writes to plain files: where such a file is opened
 * for appending, or the file system does not support holes, it is written as usual.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LARGE (1 << 20)
#define CHUNK (64 << 10)

static bool is_zero(const char *bytes, size_t count)
{
    return bytes[0] == 0 && bytes[count / 2] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* How many of the bytes are all zeros, or all not, and which. */
static size_t stretch(const char *bytes, size_t count, bool *zeros)
{
    size_t length = 0;
    while (length < count) {
        size_t chunk = count - length < CHUNK ? count - length : CHUNK;
        bool zero = chunk == CHUNK && is_zero(bytes + length, chunk);
        if (length == 0)
            *zeros = zero;
        else if (zero != *zeros)
            break;
        length += chunk;
    }
    return length;
}

static bool is_plain(int file, struct stat *facts)
{
    int before = errno;
    int flags = fcntl(file, F_GETFL);
    bool plain = flags >= 0 && !(flags & (O_APPEND | O_DIRECT)) && (flags & O_ACCMODE) != O_RDONLY &&
                 fstat(file, facts) == 0 && S_ISREG(facts->st_mode);
    errno = before;
    return plain;
}

static bool write_all(int file, const char *bytes, size_t count, off_t at, size_t *done)
{
    while (count) {
        ssize_t written = syscall(SYS_pwrite64, file, bytes, count, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written, count -= (size_t)written, at += written, *done += (size_t)written;
    }
    return true;
}

/* Leaves a hole, also over what was there before. */
static bool leave_out(int file, off_t at, size_t count, off_t size)
{
    size_t inside = at >= size ? 0 : size - at < (off_t)count ? (size_t)(size - at) : count;
    return inside == 0 || fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t)inside) == 0;
}

/* The bytes written, or -1 with errno. */
static ssize_t write_sparse(int file, const char *bytes, size_t count, off_t at, off_t size)
{
    size_t done = 0;
    bool zeros = false;
    while (done < count) {
        size_t length = stretch(bytes + done, count - done, &zeros);
        if (zeros && leave_out(file, at + (off_t)done, length, size))
            done += length;
        else if (!write_all(file, bytes + done, length, at + (off_t)done, &done))
            return done ? (ssize_t)done : -1;
    }
    struct stat facts;
    off_t end = at + (off_t)count;
    if (fstat(file, &facts) == 0 && facts.st_size < end && ftruncate(file, end) != 0)
        return -1;
    return (ssize_t)done;
}

static bool has_zeros(const char *bytes, size_t count)
{
    for (size_t at = 0; at + CHUNK <= count; at += CHUNK)
        if (is_zero(bytes + at, CHUNK))
            return true;
    return false;
}

static ssize_t write_here(int file, const void *bytes, size_t count)
{
    struct stat facts;
    off_t at;
    if (count < LARGE || !has_zeros(bytes, count) || !is_plain(file, &facts) ||
        (at = lseek(file, 0, SEEK_CUR)) < 0)
        return syscall(SYS_write, file, bytes, count);
    ssize_t written = write_sparse(file, bytes, count, at, facts.st_size);
    if (written > 0 && lseek(file, at + written, SEEK_SET) < 0)
        return -1;
    return written;
}

static ssize_t write_there(int file, const void *bytes, size_t count, off_t at)
{
    struct stat facts;
    if (count < LARGE || !has_zeros(bytes, count) || !is_plain(file, &facts))
        return syscall(SYS_pwrite64, file, bytes, count, at);
    return write_sparse(file, bytes, count, at, facts.st_size);
}

/* Small writes are passed on to the C library, where they can be cancelled. */
#define NEXT(name)                                                                                                     \
    static __typeof__(&name) next_##name;                                                                              \
    if (!next_##name)                                                                                                  \
        next_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

EXPORT ssize_t write(int file, const void *bytes, size_t count)
{
    NEXT(write);
    return count < LARGE ? next_write(file, bytes, count) : write_here(file, bytes, count);
}

EXPORT ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{
    NEXT(pwrite);
    return count < LARGE ? next_pwrite(file, bytes, count, at) : write_there(file, bytes, count, at);
}

EXPORT ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{
    NEXT(pwrite64);
    return count < LARGE ? next_pwrite64(file, bytes, count, at) : write_there(file, bytes, count, at);
}

/* C++ streams write their buffer and a large block together. */
EXPORT ssize_t writev(int file, const struct iovec *parts, int count)
{
    NEXT(writev);
    bool large = false;
    struct stat facts;
    for (int i = 0; i < count; i++)
        large = large || (parts[i].iov_len >= LARGE && has_zeros(parts[i].iov_base, parts[i].iov_len));
    if (!large || !is_plain(file, &facts))
        return next_writev(file, parts, count);
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t written = parts[i].iov_len ? write_here(file, parts[i].iov_base, parts[i].iov_len) : 0;
        if (written < 0)
            return total ? total : -1;
        total += written;
        if ((size_t)written < parts[i].iov_len)
            break;
    }
    return total;
}
