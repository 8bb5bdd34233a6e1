/* Reads the run's settings once; see settings.h.
 *
 * By system calls alone, since open() is the interposer's in a job whose files are held back, and into a static buffer:
 * a mapping of its own would move the addresses of device memory, and malloc() is not for signal handlers, where kill()
 * (exits.c) may be the first to ask.
 */
#include "settings.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_BYTES (128 << 10) /* of the document that are looked at: the section and what is before it */
#define MAX_SETTINGS 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char document[PATH_MAX]; /* its path, copied: programs that set their title write over their environment */
static bool unreadable;
static char text[MAX_BYTES + 1];
static struct {
    const char *key, *value;
} settings[MAX_SETTINGS];
static size_t count;

static void refuse(const char *what, const char *at)
{
    fprintf(stderr, "veritasest: %s: %s at byte %td of the run's settings\n", document, what, at - text);
    abort();
}

static void add(const char *key, const char *value, const char *at)
{
    if (count == MAX_SETTINGS)
        refuse("too many settings", at);
    settings[count].key = key;
    settings[count++].value = value;
}

static char *skip_space(char *at) { return at + strspn(at, " \t\r\n"); }

static char *expect(char *at, char wanted)
{
    at = skip_space(at);
    if (*at != wanted)
        refuse(*at ? "an unexpected character" : "the end of the text", at);
    return at + 1;
}

static unsigned read_hex(const char *at)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            refuse("a bad \\u escape", at);
        value = value << 4 | (unsigned)(isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
    }
    return value;
}

static char *put_utf8(char *out, unsigned point)
{
    if (point < 0x80) {
        *out++ = (char)point;
    } else if (point < 0x800) {
        *out++ = (char)(0xc0 | point >> 6);
        *out++ = (char)(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
        *out++ = (char)(0xe0 | point >> 12);
        *out++ = (char)(0x80 | (point >> 6 & 0x3f));
        *out++ = (char)(0x80 | (point & 0x3f));
    } else {
        *out++ = (char)(0xf0 | point >> 18);
        *out++ = (char)(0x80 | (point >> 12 & 0x3f));
        *out++ = (char)(0x80 | (point >> 6 & 0x3f));
        *out++ = (char)(0x80 | (point & 0x3f));
    }
    return out;
}

/* `at` is behind "\u". Python writes a byte of a path that is not UTF-8 as a lone low surrogate, \udc80 to \udcff. */
static char *read_unicode(char *at, char **out)
{
    unsigned point = read_hex(at);
    at += 4;
    if (point >= 0xd800 && point < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
        unsigned low = read_hex(at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *out = put_utf8(*out, 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00));
            return at + 6;
        }
    }
    if (point >= 0xdc80 && point <= 0xdcff)
        *(*out)++ = (char)(point - 0xdc00);
    else if (point == 0 || (point >= 0xd800 && point < 0xe000))
        refuse("a \\u escape that no path can hold", at);
    else
        *out = put_utf8(*out, point);
    return at;
}

/* Decoded where it is: that is never longer. Leaves *at behind the closing quote. */
static char *read_string(char **at)
{
    char *from = expect(*at, '"'), *start = from, *out = from;
    while (*from != '"') {
        if ((unsigned char)*from < 0x20)
            refuse(*from ? "a control character" : "a string without an end", from);
        if (*from != '\\') {
            *out++ = *from++;
            continue;
        }
        const char *letters = "\"\\/bfnrt", *meant = "\"\\/\b\f\n\r\t";
        const char *letter = from[1] ? strchr(letters, from[1]) : NULL;
        if (from[1] == 'u') {
            from = read_unicode(from + 2, &out);
        } else if (letter) {
            *out++ = meant[letter - letters];
            from += 2;
        } else {
            refuse("an unknown escape", from);
        }
    }
    *out = '\0';
    *at = from + 1;
    return start;
}

/* Moved by one, over the character before it, to make room for its end. */
static char *read_number(char **at)
{
    size_t length = strspn(*at, "0123456789");
    char *moved = *at - 1;
    memmove(moved, *at, length);
    moved[length] = '\0';
    *at += length;
    return moved;
}

static char *read_value(char **at)
{
    *at = skip_space(*at);
    if (**at == '"')
        return read_string(at);
    if (**at < '0' || **at > '9')
        refuse("a value that is neither a string nor an unsigned integer", *at);
    return read_number(at);
}

static void parse(void)
{
    char *at = expect(text, '{');
    if (strcmp(read_string(&at), "native") != 0)
        refuse("another section before \"native\"", at);
    at = expect(expect(at, ':'), '{');
    if (*skip_space(at) == '}')
        return;
    do {
        char *key = read_string(&at);
        at = expect(at, ':');
        add(key, read_value(&at), at);
        at = skip_space(at);
    } while (*at++ == ',');
    expect(at - 1, '}');
}

static bool read_file(void)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, document, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    size_t length = 0;
    for (ssize_t got; length < MAX_BYTES; length += (size_t)got) {
        got = syscall(SYS_read, file, text + length, MAX_BYTES - length);
        if (got <= 0)
            break;
    }
    syscall(SYS_close, file);
    text[length] = '\0';
    return true;
}

static void read_settings(void)
{
    const char *path = getenv("VERITASEST_RUN");
    if (!path || !*path)
        return;
    unreadable = snprintf(document, sizeof document, "%s", path) >= (int)sizeof document || !read_file();
    if (!unreadable)
        parse();
}

const char *vest_setting(const char *key)
{
    pthread_once(&once, read_settings);
    for (size_t i = 0; i < count; i++)
        if (strcmp(settings[i].key, key) == 0)
            return settings[i].value;
    return NULL;
}

bool vest_setting_at(size_t index, const char **key, const char **value)
{
    pthread_once(&once, read_settings);
    if (index >= count)
        return false;
    *key = settings[index].key;
    *value = settings[index].value;
    return true;
}

void vest_require_settings(void)
{
    pthread_once(&once, read_settings);
    if (!unreadable)
        return;
    fprintf(stderr, "veritasest: cannot read the run's settings, %s (VERITASEST_RUN)\n", document);
    abort();
}
