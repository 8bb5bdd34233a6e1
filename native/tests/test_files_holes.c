/* Long runs of zeros are written as holes. */
#define _GNU_SOURCE
#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MIB (1u << 20)

extern char base[PATH_MAX / 2]; /* the test's folder */
void holes(void);

/* A file of zeros and letters, written once plainly and once as our libraries write it. */
void holes(void)
{
    enum { SIZE = 8 * MIB };
    char path[PATH_MAX], *bytes = calloc(1, SIZE), *again = malloc(SIZE);
    struct stat facts;
    assert(bytes && again);
    memset(bytes + 3 * MIB + 5, 'x', MIB);
    snprintf(path, sizeof path, "%s/user/sparse", base);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    struct iovec parts[] = {{"head", 4}, {bytes, SIZE}};
    assert(file >= 0 && writev(file, parts, 2) == 4 + SIZE && lseek(file, 0, SEEK_CUR) == 4 + SIZE);
    assert(pread(file, again, SIZE, 4) == SIZE && memcmp(bytes, again, SIZE) == 0);
    assert(fstat(file, &facts) == 0 && facts.st_size == 4 + SIZE && facts.st_blocks * 512 < 2 * (off_t)MIB);
    memset(again, 'y', SIZE);
    assert(pwrite(file, again, SIZE, 4) == SIZE && pwrite(file, bytes, SIZE, 4) == SIZE); /* zeros over letters */
    assert(pread(file, again, SIZE, 4) == SIZE && memcmp(bytes, again, SIZE) == 0);
    assert(lseek(file, SIZE / 2, SEEK_SET) == SIZE / 2 && write(file, bytes, 2 * MIB) == 2 * MIB);
    assert(lseek(file, 0, SEEK_CUR) == SIZE / 2 + 2 * MIB && fstat(file, &facts) == 0 && facts.st_size == 4 + SIZE);
    close(file);
    file = open(path, O_WRONLY | O_APPEND);
    assert(file >= 0 && write(file, bytes, 2 * MIB) == 2 * MIB && fstat(file, &facts) == 0);
    assert(facts.st_size == 4 + SIZE + 2 * MIB);
    close(file);
    free(bytes);
    free(again);
}
