/* The file behind plan_cache.h: one line per plan, appended by one write() each, so that concurrent runs can share it.
 *
 * A line is "hash hash status base fact unrecorded bytes most check", the middle being a struct vest_workspace; one
 * that does not check is ignored, so a torn or corrupt file costs a recomputation and nothing else. The hashes include
 * the cuDNN version and the device properties, so one file serves all of them. It is bounded: past FILE_LIMIT it starts
 * anew.
 *
 * The setting `plan_cache` names the file; without it nothing is kept between processes.
 */
#include "plan_cache.h"
#include "cudnn.h"
#include "settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 4 /* increased when the answers change, corrections included */
#define FILE_LIMIT (8 << 20)
#define SLOTS (1 << 17) /* more than FILE_LIMIT holds lines */
#define LINE_BYTES 200

struct entry {
    uint64_t words[2];
    struct vest_plan plan;
    bool taken;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static int entry_count, file = -1;
static struct vest_digest setting; /* what all answers of this process depend on */

void vest_digest_add(struct vest_digest *digest, const void *bytes, size_t count)
{
    const uint64_t prime = 0x100000001b3u;
    const unsigned char *text = bytes;
    uint64_t first = digest->words[0] ^ 0xcbf29ce484222325u, second = digest->words[1] ^ 0x9ae16a3b2f90404fu;
    for (size_t i = 0; i < count; i++) {
        first = (first ^ text[i]) * prime;
        second = (second + text[i] + 1) * 0xff51afd7ed558ccdu;
        second ^= second >> 29;
    }
    digest->words[0] = first;
    digest->words[1] = second;
}

static uint64_t check_of(const struct entry *entry)
{
    struct vest_digest digest = {0};
    vest_digest_add(&digest, entry->words, sizeof entry->words);
    const struct vest_workspace *size = &entry->plan.workspace;
    const int64_t numbers[] = {entry->plan.status,    size->base,       size->part.fact,
                               size->part.unrecorded, size->part.bytes, size->part.most};
    vest_digest_add(&digest, numbers, sizeof numbers);
    return digest.words[0] ^ digest.words[1];
}

/* The slot that holds these words, or the free one where they belong. */
static struct entry *slot_of(const uint64_t words[2])
{
    size_t at = words[0] % SLOTS;
    while (entries[at].taken && memcmp(entries[at].words, words, sizeof entries[at].words) != 0)
        at = (at + 1) % SLOTS;
    return &entries[at];
}

static void keep(struct entry entry)
{
    struct entry *slot = slot_of(entry.words);
    if (!slot->taken && entry_count >= SLOTS / 2)
        return;
    entry_count += !slot->taken;
    entry.taken = true;
    *slot = entry;
}

static void read_file(void)
{
    FILE *stream = fdopen(dup(file), "r");
    char line[LINE_BYTES];
    while (stream && fgets(line, sizeof line, stream)) {
        struct entry entry = {0};
        struct vest_workspace *size = &entry.plan.workspace;
        uint64_t check;
        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %d %" SCNd64 " %d %d %" SCNd64 " %" SCNd64 " %" SCNx64,
                   &entry.words[0], &entry.words[1], &entry.plan.status, &size->base, &size->part.fact,
                   &size->part.unrecorded, &size->part.bytes, &size->part.most, &check) == 9 &&
            check == check_of(&entry))
            keep(entry);
    }
    if (stream)
        fclose(stream);
}

static void open_cache(void)
{
    entries = calloc(SLOTS, sizeof *entries);
    const char *path = vest_setting("plan_cache"), *target = vest_setting("cudnn_properties");
    const int format = FORMAT;
    vest_digest_add(&setting, &format, sizeof format);
    for (int i = 0; vest_fact_row(i); i++) /* a line holds the number of a row */
        vest_digest_add(&setting, vest_fact_row(i)->name, strlen(vest_fact_row(i)->name));
    vest_digest_add(&setting, target ? target : "", target ? strlen(target) : 0);
    REAL(cudnnGetVersion, size_t, void)
    size_t version = function();
    vest_digest_add(&setting, &version, sizeof version);
    if (!entries || !path || !*path)
        return;
    file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct stat facts;
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > FILE_LIMIT && ftruncate(file, 0) != 0) {
        close(file);
        file = -1;
    }
    if (file >= 0)
        read_file();
}

static struct entry entry_for(const struct vest_digest *digest)
{
    struct vest_digest whole = setting;
    vest_digest_add(&whole, digest->words, sizeof digest->words);
    return (struct entry){.words = {whole.words[0], whole.words[1]}};
}

bool vest_plan_find(const struct vest_digest *digest, struct vest_plan *out)
{
    pthread_once(&once, open_cache);
    if (!entries)
        return false;
    struct entry wanted = entry_for(digest);
    pthread_mutex_lock(&lock);
    const struct entry *slot = slot_of(wanted.words);
    bool found = slot->taken;
    if (found)
        *out = slot->plan;
    pthread_mutex_unlock(&lock);
    return found;
}

void vest_plan_add(const struct vest_digest *digest, const struct vest_plan *plan)
{
    pthread_once(&once, open_cache);
    if (!entries)
        return;
    struct entry entry = entry_for(digest);
    entry.plan = *plan;
    const struct vest_workspace *size = &plan->workspace;
    char line[LINE_BYTES];
    int length = snprintf(line, sizeof line,
                          "%016" PRIx64 " %016" PRIx64 " %d %" PRId64 " %d %d %" PRId64 " %" PRId64 " %016" PRIx64 "\n",
                          entry.words[0], entry.words[1], plan->status, size->base, size->part.fact,
                          size->part.unrecorded, size->part.bytes, size->part.most, check_of(&entry));
    pthread_mutex_lock(&lock);
    keep(entry);
    pthread_mutex_unlock(&lock);
    if (file >= 0 && write(file, line, (size_t)length) != length) {
        /* A full disk: this plan is asked again next time. */
    }
}
