/* Starts the agent in a Python interpreter that did not do so itself.
 *
 * The agent comes as a `sitecustomize` module on PYTHONPATH, which `python -I`, `-E` and `-S` do not look at, nor does
 * every program that embeds Python. The stand-ins are preloaded in any case. When PyTorch's GPU code is loaded, in the
 * middle of `import torch`, they ask the interpreter for a pending call: its main thread makes it between two
 * instructions of Python, and the agent waits for the end of the import as usual.
 *
 * An audit hook added before the interpreter is initialised is no alternative: Python 3.9 to 3.13 abort at exit if the
 * allocator changes in between (`-X dev`, PYTHONMALLOC=debug).
 *
 * Known limitation: a program that imports torch in a thread while its main thread waits for it gets the agent when the
 * wait is over.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "settings.h"
#include "vest.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { FILE_INPUT = 257 }; /* Py_file_input */

static const char start_code[] =
    "import sys\n"
    "if 'veritasest.engines.emulated.agent' not in sys.modules:\n"
    "    import os\n"
    "    path = os.path.join(home, 'engines', 'emulated', 'agent', 'inject', 'sitecustomize.py')\n"
    "    with open(path, encoding='utf-8') as file:\n"
    "        exec(compile(file.read(), path, 'exec'), {'__name__': 'veritasest_start', '__file__': path})\n";

/* Called by the interpreter, with its lock held. Leaves no exception behind. */
static int start_agent(void *unused)
{
    (void)unused;
    void *(*new_dict)(void) = dlsym(RTLD_DEFAULT, "PyDict_New");
    void *(*run)(const char *, int, void *, void *) = dlsym(RTLD_DEFAULT, "PyRun_String");
    void (*release)(void *) = dlsym(RTLD_DEFAULT, "Py_DecRef"); /* of NULL: nothing */
    void (*clear_error)(void) = dlsym(RTLD_DEFAULT, "PyErr_Clear");
    void *(*decode_path)(const char *) = dlsym(RTLD_DEFAULT, "PyUnicode_DecodeFSDefault");
    int (*set_item)(void *, const char *, void *) = dlsym(RTLD_DEFAULT, "PyDict_SetItemString");
    if (!new_dict || !run || !release || !clear_error || !decode_path || !set_item)
        return 0;
    void *names = new_dict(), *home = decode_path(vest_setting("home")), *result = NULL;
    if (names && home && set_item(names, "home", home) == 0)
        result = run(start_code, FILE_INPUT, names, names);
    if (!result)
        clear_error();
    release(result);
    release(home);
    release(names);
    return 0;
}

void vest_start_agent(void)
{
    static int asked;
    const char *home = vest_setting("home"), *trace = vest_setting("trace");
    int (*is_initialized)(void) = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    int (*add_call)(int (*)(void *), void *) = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    if (!home || !*home || !trace || !*trace || !is_initialized || !add_call || !is_initialized())
        return;
    if (!__atomic_exchange_n(&asked, 1, __ATOMIC_RELAXED) && add_call(start_agent, NULL) != 0)
        __atomic_store_n(&asked, 0, __ATOMIC_RELAXED); /* the queue was full: the next library tries again */
}
