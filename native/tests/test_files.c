/* The interposer and the holes, against the kernel: the same random calls on a layered folder and on a real copy of it
 * must give the same results, and what is below the layer must stay as it was.
 *
 * Linked to the libraries that the job preloads. The parent sees the files as they are; each child is this program
 * again, with the layer in its environment.
 */
#define _GNU_SOURCE
#undef NDEBUG
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYERED "user"   /* below the layer */
#define REAL "kept/user" /* the copy that the kernel works on */
#define TEXT 65536

char base[PATH_MAX / 2];
void holes(void); /* test_files_holes.c */
static unsigned long seed;

static unsigned choose(unsigned count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % count;
}

static const char *const names[] = {"a", "b", "c",   "d/a", "d/b", "d/e", "d/e/a",
                                    "d", "g", "g/a", "g/b", "l",   "l/a", "d/.."};
#define NAMES (sizeof names / sizeof *names)

static void path_in(char *buffer, const char *tree, unsigned name)
{
    snprintf(buffer, PATH_MAX, "%s/%s/%s", base, tree, names[name]);
}

static int write_text(const char *path, int flags, const char *text)
{
    int file = open(path, flags, 0644);
    if (file < 0)
        return -1;
    ssize_t written = write(file, text, strlen(text));
    close(file);
    return (int)written;
}

static int read_text(const char *path)
{
    char text[256] = "";
    FILE *stream = fopen(path, "r");
    int sum = 0;
    if (!stream)
        return -1;
    if (fgets(text, sizeof text, stream))
        for (const char *at = text; *at; at++)
            sum = sum * 31 + *at;
    fclose(stream);
    return sum;
}

static int list(const char *path)
{
    DIR *folder = opendir(path);
    int sum = 0;
    if (!folder)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder));)
        sum += (int)strlen(entry->d_name) + entry->d_name[0] * (entry->d_type == DT_DIR ? 1000 : 1);
    closedir(folder);
    return sum;
}

static int kind_of(const char *path, bool follow)
{
    struct stat facts;
    int result = follow ? stat(path, &facts) : lstat(path, &facts);
    return result == 0 ? (int)(facts.st_mode & S_IFMT) + (S_ISREG(facts.st_mode) ? (int)facts.st_size : 0) : -1;
}

/* One call, chosen by `what`; the same in both trees. */
static int act(const char *tree, unsigned what, unsigned first, unsigned second)
{
    char path[PATH_MAX], other[PATH_MAX];
    path_in(path, tree, first);
    path_in(other, tree, second);
    switch (what) {
    case 0: return write_text(path, O_WRONLY | O_CREAT | O_TRUNC, "written anew");
    case 1: return write_text(path, O_WRONLY | O_CREAT | O_APPEND, "+");
    case 2: return write_text(path, O_WRONLY | O_CREAT | O_EXCL, "made");
    case 3: return write_text(path, O_RDWR, "over");
    case 4: return unlink(path);
    case 5: return rmdir(path);
    case 6: return mkdir(path, 0755);
    case 7:
    case 8: return rename(path, other);
    case 9: return link(path, other);
    case 10: return symlink(names[second], path);
    case 11: return truncate(path, 3);
    case 12: return chmod(path, 0700);
    case 13: return remove(path);
    case 14: return access(path, F_OK);
    case 15: return list(path);
    case 16: return kind_of(path, true);
    case 17: return kind_of(path, false);
    default: return read_text(path);
    }
}

static void describe(const char *path, char *text, int depth)
{
    char inside[PATH_MAX];
    DIR *folder = depth < 5 ? opendir(path) : NULL;
    char found[64][32];
    int count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && count < 64)
            snprintf(found[count++], sizeof *found, "%.31s", entry->d_name);
    if (folder)
        closedir(folder);
    qsort(found, (size_t)count, sizeof *found, (int (*)(const void *, const void *))strcmp);
    for (int i = 0; i < count; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, found[i]);
        int kind = kind_of(inside, false);
        size_t used = strlen(text);
        snprintf(text + used, TEXT - used, "%*s%s %d %d\n", depth, "", found[i], kind,
                 S_ISREG((unsigned)kind_of(inside, false) & S_IFMT) ? read_text(inside) : 0);
        if (((unsigned)kind & S_IFMT) == S_IFDIR)
            describe(inside, text, depth + 1);
    }
}

static void compare_trees(void)
{
    static char ours[TEXT], real[TEXT];
    char path[PATH_MAX];
    ours[0] = real[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", base, LAYERED);
    describe(path, ours, 0);
    snprintf(path, sizeof path, "%s/%s", base, REAL);
    describe(path, real, 0);
    if (strcmp(ours, real) != 0) {
        fprintf(stderr, "layered:\n%sreal:\n%s", ours, real);
        abort();
    }
}

/* The kernel finds some errors in another order, where a name is wrong in two ways. */
static bool same_reason(unsigned what, int one, int other)
{
    return one == other || (what >= 7 && what <= 9);
}

static void random_calls(void)
{
    for (int round = 0; round < 6000; round++) {
        unsigned what = choose(19), first = choose(NAMES), second = choose(NAMES);
        errno = 0;
        int ours = act(LAYERED, what, first, second), reason = errno;
        errno = 0;
        int real = act(REAL, what, first, second);
        if (ours != real || (ours < 0 && !same_reason(what, reason, errno))) {
            fprintf(stderr, "round %d: call %u on %s, %s: %d (%s), the kernel: %d (%s)\n", round, what, names[first],
                    names[second], ours, strerror(reason), real, strerror(errno));
            abort();
        }
        if (round % 50 == 0)
            compare_trees();
    }
    compare_trees();
}

/* A folder with files, links and a folder, in both places. */
static void make_tree(const char *tree)
{
    static const char *const folders[] = {"", "d", "d/e", "g"};
    static const char *const files[] = {"a", "b", "d/a", "d/e/a", "g/a"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", base, tree, folders[i]);
        assert(mkdir(path, 0755) == 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", base, tree, files[i]);
        assert(write_text(path, O_WRONLY | O_CREAT, files[i]) > 0);
    }
    snprintf(path, sizeof path, "%s/%s/l", base, tree);
    assert(symlink("d", path) == 0);
}

static void working_directory(void)
{
    char path[PATH_MAX], found[PATH_MAX];
    snprintf(path, sizeof path, "%s/user", base);
    assert(chdir(path) == 0 && mkdir("fresh", 0755) == 0 && chdir("fresh") == 0);
    assert(getcwd(found, sizeof found) && strcmp(found + strlen(base), "/user/fresh") == 0);
    assert(write_text("x", O_WRONLY | O_CREAT, "x") == 1 && access("../fresh/x", R_OK) == 0);
    assert(realpath("../l/../fresh/./x", found) && strcmp(found + strlen(base), "/user/fresh/x") == 0);
    int folder = open("..", O_RDONLY | O_DIRECTORY);
    assert(folder >= 0 && unlinkat(folder, "a", 0) == 0 && faccessat(folder, "a", F_OK, 0) != 0);
    DIR *stream = fdopendir(folder);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(stream));)
        count += strcmp(entry->d_name, "a") == 0 || strcmp(entry->d_name, "fresh") == 0;
    assert(count == 1 && closedir(stream) == 0);
    char template[] = "temporary-XXXXXX";
    int file = mkstemp(template);
    assert(file >= 0 && access(template, W_OK) == 0 && close(file) == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {{"random calls", random_calls}, {"working directory", working_directory}, {"holes", holes}};

static void use_layer(const char *layer, const char *kept)
{
    char path[PATH_MAX], text[3 * PATH_MAX];
    snprintf(path, sizeof path, "%s/run.json", base);
    snprintf(text, sizeof text, "{\"native\": {\"layer\": \"%s\", \"kept\": \"%s\"}}", layer, kept);
    assert(write_text(path, O_WRONLY | O_CREAT, text) > 0 && setenv("VERITASEST_RUN", path, 1) == 0);
}

static bool passes(const char *program, int test, unsigned long number)
{
    char before[TEXT] = "", after[TEXT] = "", layer[PATH_MAX], kept[PATH_MAX], path[PATH_MAX], command[PATH_MAX];
    char template[] = "/tmp/test_files.XXXXXX", words[2][32];
    assert(mkdtemp(template));
    strcpy(base, template);
    snprintf(kept, sizeof kept, "%s/kept", base);
    snprintf(layer, sizeof layer, "%s/layer", base);
    assert(mkdir(kept, 0755) == 0 && mkdir(layer, 0755) == 0);
    strcat(layer, "/upper");
    assert(mkdir(layer, 0755) == 0);
    make_tree(LAYERED);
    make_tree(REAL);
    snprintf(path, sizeof path, "%s/%s", base, LAYERED);
    describe(path, before, 0);
    pid_t child = fork();
    if (child == 0) {
        use_layer(layer, kept);
        snprintf(words[0], sizeof *words, "%d", test);
        snprintf(words[1], sizeof *words, "%lu", number);
        execl(program, program, base, words[0], words[1], (char *)NULL);
        _exit(127);
    }
    int status;
    assert(waitpid(child, &status, 0) == child);
    describe(path, after, 0);
    bool passed = status == 0 && strcmp(before, after) == 0;
    if (!passed)
        fprintf(stderr, "FAILED %s (seed %lu, status %d)\n%s", tests[test].name, number, status,
                strcmp(before, after) ? "what is below the layer has changed\n" : "");
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    assert(system(command) == 0);
    return passed;
}

int main(int count, char **words)
{
    if (count == 4) {
        strcpy(base, words[1]);
        seed = strtoul(words[3], NULL, 10);
        tests[atoi(words[2])].run();
        return 0;
    }
    char program[PATH_MAX] = "";
    assert(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    int run = 0, failed = 0;
    for (unsigned long number = 1; number <= 5; number++, run++)
        failed += !passes(program, 0, number);
    for (int test = 1; test < (int)(sizeof tests / sizeof *tests); test++, run++)
        failed += !passes(program, test, 1);
    printf("%d of %d passed\n", run - failed, run);
    return failed != 0;
}
