/* The settings of the run: the section "native" of the JSON document that the variable VERITASEST_RUN names.
 *
 * The section is flat, and the first of the document: keys with strings or unsigned integers. The interposer (files/)
 * and the audit module do not link to libveritasest and have this reader compiled in.
 *
 * | key | value |
 * |---|---|
 * | trace | the file that events are appended to |
 * | home | the folder of the Python package, with the agent |
 * | books | the file through which the processes of the run share the device's memory (shared.c) |
 * | cudnn_properties | the target GPU as cuDNN describes it, JSON text |
 * | plan_cache | the file that keeps cuDNN's answers between runs |
 * | guesses | "low" or "high": sizes that are guesses take that bound |
 * | events | "late": events complete only when the host has waited for them (order.c) |
 * | addresses | "upwards": each range of device addresses lies above the last (address_space.c) |
 * | layer, kept | the folder that holds back what the job writes; paths that are not held back, one per line |
 * | gpu_name, gpu_count, ... | the target GPU (config.c) |
 */
#ifndef VEST_SETTINGS_H
#define VEST_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef VEST_CORE
#define VEST_SETTINGS_API __attribute__((visibility("default")))
#else
#define VEST_SETTINGS_API
#endif

/* NULL: not set. Numbers are given as text. A malformed document ends the process. */
VEST_SETTINGS_API const char *vest_setting(const char *key);
/* All of them in turn; false: there is no setting `index`. */
VEST_SETTINGS_API bool vest_setting_at(size_t index, const char **key, const char **value);
/* Ends the process if there is a document that cannot be opened: for what must not happen on default settings. */
VEST_SETTINGS_API void vest_require_settings(void);

#endif
