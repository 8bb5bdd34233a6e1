/* NVML: what nvidia-smi would say about the emulated GPUs. Memory comes from the same books as cudaMemGetInfo.
 *
 * Sensors (temperature, power, utilisation) give the constants of an idle GPU: nothing depends on them but dashboards.
 * Features that a GPU may lack (NVLink, MIG, fans, ECC) are reported as lacking.
 */
#define VEST_LIBRARY "nvml"
#define VEST_REFUSAL 3 /* NVML_ERROR_NOT_SUPPORTED */
#include "stub.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "symbols/nvml_noop.def"
#include "symbols/nvml_unsupported.def"

typedef unsigned long long u64;

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    VERSION_MISMATCH = 25,
};
enum { CLOCK_MEMORY = 2, IDLE_CELSIUS = 30, IDLE_MILLIWATTS = 70000, UUID_TEXT_BYTES = 41 };

static const char DRIVER_VERSION[] = "580.65.06";
static const char NVML_VERSION[] = "13.580.65.06";

/* A device handle is the address of one of these. */
static char devices[VEST_MAX_DEVICES];
static int users; /* nvmlInit calls not yet matched by nvmlShutdown */

static int open_library(void)
{
    __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

VEST_EXPORT int nvmlInit(void) { return open_library(); }
VEST_EXPORT int nvmlInit_v2(void) { return open_library(); }

VEST_EXPORT int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return open_library();
}

VEST_EXPORT int nvmlShutdown(void)
{
    if (__atomic_load_n(&users, __ATOMIC_RELAXED) == 0)
        return UNINITIALIZED;
    __atomic_sub_fetch(&users, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

VEST_EXPORT const char *nvmlErrorString(int status)
{
    switch (status) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

static int give_text(const char *text, char *out, unsigned bytes)
{
    if (!out)
        return INVALID_ARGUMENT;
    if (strlen(text) + 1 > bytes)
        return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return SUCCESS;
}

VEST_EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned bytes) { return give_text(DRIVER_VERSION, out, bytes); }
VEST_EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned bytes) { return give_text(NVML_VERSION, out, bytes); }

VEST_EXPORT int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

/* -1: not a device. */
static int index_of(const void *handle)
{
    const char *place = handle;
    if (place < devices || place >= devices + vest_gpu()->count)
        return -1;
    return (int)(place - devices);
}

VEST_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!__atomic_load_n(&users, __ATOMIC_RELAXED))
        return UNINITIALIZED;
    if (!count)
        return INVALID_ARGUMENT;
    *count = (unsigned)vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

VEST_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    if (!__atomic_load_n(&users, __ATOMIC_RELAXED))
        return UNINITIALIZED;
    if (!handle || index >= (unsigned)vest_gpu()->count)
        return INVALID_ARGUMENT;
    *handle = &devices[index];
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **handle)
{
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

static void uuid_text(int device, char out[UUID_TEXT_BYTES])
{
    unsigned char id[16];
    vest_uuid(device, id);
    snprintf(out, UUID_TEXT_BYTES, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
             id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
             id[15]);
}

VEST_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle)
{
    if (!uuid || !handle)
        return INVALID_ARGUMENT;
    for (int device = 0; device < vest_gpu()->count; device++) {
        char text[UUID_TEXT_BYTES];
        uuid_text(device, text);
        if (strcasecmp(text, uuid) == 0) {
            *handle = &devices[device];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

struct place {
    unsigned domain, bus, slot;
};

static struct place place_of(int device)
{
    char text[32] = "";
    struct place place = {0};
    vest_pci_bus_id(device, text, sizeof text);
    sscanf(text, "%x:%x:%x", &place.domain, &place.bus, &place.slot);
    return place;
}

VEST_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **handle)
{
    struct place wanted;
    if (!text || !handle || sscanf(text, "%x:%x:%x", &wanted.domain, &wanted.bus, &wanted.slot) != 3)
        return INVALID_ARGUMENT;
    for (int device = 0; device < vest_gpu()->count; device++) {
        struct place place = place_of(device);
        if (place.domain == wanted.domain && place.bus == wanted.bus && place.slot == wanted.slot) {
            *handle = &devices[device];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

VEST_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *text, void **handle)
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}

struct pci_info {
    char short_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
};

static int describe_place(const void *handle, struct pci_info *out)
{
    int device = index_of(handle);
    if (device < 0 || !out)
        return INVALID_ARGUMENT;
    struct place place = place_of(device);
    *out = (struct pci_info){.domain = place.domain, .bus = place.bus, .device = place.slot};
    snprintf(out->short_id, sizeof out->short_id, "%04x:%02x:%02x.0", place.domain & 0xffff, place.bus & 0xff,
             place.slot & 0xff);
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci_info *out)
{
    enum { LONG_ID_BYTES = 32 };
    int status = describe_place(handle, out);
    if (!status) /* the long form follows: "00000000:01:00.0" */
        snprintf((char *)(out + 1), LONG_ID_BYTES, "%08x:%02x:%02x.0", out->domain, out->bus, out->device);
    return status;
}

VEST_EXPORT int nvmlDeviceGetPciInfo_v2(void *handle, struct pci_info *out) { return describe_place(handle, out); }
VEST_EXPORT int nvmlDeviceGetPciInfo(void *handle, struct pci_info *out) { return describe_place(handle, out); }

VEST_EXPORT int nvmlDeviceGetName(void *handle, char *out, unsigned bytes)
{
    return index_of(handle) < 0 ? INVALID_ARGUMENT : give_text(vest_gpu()->name, out, bytes);
}

VEST_EXPORT int nvmlDeviceGetUUID(void *handle, char *out, unsigned bytes)
{
    int device = index_of(handle);
    if (device < 0)
        return INVALID_ARGUMENT;
    char text[UUID_TEXT_BYTES];
    uuid_text(device, text);
    return give_text(text, out, bytes);
}

VEST_EXPORT int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    if (index_of(handle) < 0 || !major || !minor)
        return INVALID_ARGUMENT;
    *major = vest_gpu()->cc / 10;
    *minor = vest_gpu()->cc % 10;
    return SUCCESS;
}

struct memory {
    u64 total, free, used;
};

struct memory_v2 {
    unsigned version;
    u64 total, reserved, free, used;
};
enum { MEMORY_V2 = 0x02000028 };
_Static_assert(sizeof(struct memory_v2) == (MEMORY_V2 & 0xffffff), "the version carries the size of the struct");

VEST_EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *out)
{
    int device = index_of(handle);
    if (device < 0 || !out)
        return INVALID_ARGUMENT;
    uint64_t free_bytes = 0, total_bytes = 0;
    vest_memory_info(device, &free_bytes, &total_bytes);
    *out = (struct memory){.total = total_bytes, .free = free_bytes, .used = total_bytes - free_bytes};
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *out)
{
    struct memory memory;
    if (!out)
        return INVALID_ARGUMENT;
    if (out->version != MEMORY_V2)
        return VERSION_MISMATCH;
    int status = nvmlDeviceGetMemoryInfo(handle, &memory);
    if (!status)
        *out = (struct memory_v2){
            .version = MEMORY_V2, .total = memory.total, .free = memory.free, .used = memory.used};
    return status;
}

struct process_v1 {
    unsigned pid;
    u64 used_bytes;
};

struct process {
    unsigned pid;
    u64 used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* One process is on the GPU: this one. `room` is what the caller's array holds; then how many there are. */
static int count_processes(const void *handle, unsigned *room, const void *out)
{
    if (index_of(handle) < 0 || !room)
        return INVALID_ARGUMENT;
    unsigned given = *room;
    *room = 1;
    return given < 1 || !out ? INSUFFICIENT_SIZE : SUCCESS;
}

static u64 process_bytes(const void *handle)
{
    return vest_outside_bytes(index_of(handle)) + vest_used_bytes(index_of(handle));
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned *count, struct process_v1 *out)
{
    int status = count_processes(handle, count, out);
    if (!status)
        out[0] = (struct process_v1){.pid = (unsigned)getpid(), .used_bytes = process_bytes(handle)};
    return status;
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct process *out)
{
    const unsigned whole_gpu = ~0u;
    int status = count_processes(handle, count, out);
    if (!status)
        out[0] = (struct process){(unsigned)getpid(), process_bytes(handle), whole_gpu, whole_gpu};
    return status;
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct process *out)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, out);
}

#define NO_PROCESSES(name)                                                                                             \
    VEST_EXPORT int name(void *handle, unsigned *count, void *out)                                                     \
    {                                                                                                                  \
        (void)out;                                                                                                     \
        if (index_of(handle) < 0 || !count)                                                                            \
            return INVALID_ARGUMENT;                                                                                   \
        *count = 0;                                                                                                    \
        return SUCCESS;                                                                                                \
    }

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

struct utilization {
    unsigned gpu, memory; /* percent */
};

VEST_EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *out)
{
    if (index_of(handle) < 0 || !out)
        return INVALID_ARGUMENT;
    *out = (struct utilization){0};
    return SUCCESS;
}

static unsigned clock_mhz(int which)
{
    return (unsigned)((which == CLOCK_MEMORY ? vest_gpu()->memory_clock_khz : vest_gpu()->clock_khz) / 1000);
}

#define CLOCK(name)                                                                                                    \
    VEST_EXPORT int name(void *handle, int which, unsigned *mhz)                                                       \
    {                                                                                                                  \
        if (index_of(handle) < 0 || !mhz)                                                                              \
            return INVALID_ARGUMENT;                                                                                   \
        *mhz = clock_mhz(which);                                                                                       \
        return SUCCESS;                                                                                                \
    }

CLOCK(nvmlDeviceGetClockInfo)
CLOCK(nvmlDeviceGetMaxClockInfo)
CLOCK(nvmlDeviceGetApplicationsClock)

VEST_EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius)
{
    (void)sensor;
    if (index_of(handle) < 0 || !celsius)
        return INVALID_ARGUMENT;
    *celsius = IDLE_CELSIUS;
    return SUCCESS;
}

struct temperature {
    unsigned version;
    int sensor, celsius;
};

VEST_EXPORT int nvmlDeviceGetTemperatureV(void *handle, struct temperature *out)
{
    if (index_of(handle) < 0 || !out)
        return INVALID_ARGUMENT;
    out->celsius = IDLE_CELSIUS;
    return SUCCESS;
}

/* nvmlDeviceArchitecture_t, by compute capability. */
static unsigned architecture(void)
{
    int cc = vest_gpu()->cc;
    return cc >= 100 ? 10 : cc >= 90 ? 9 : cc == 89 ? 8 : cc >= 80 ? 7 : cc >= 75 ? 6 : cc >= 70 ? 5 : 4;
}

#define NUMBER(name, value)                                                                                            \
    VEST_EXPORT int name(void *handle, unsigned *out)                                                                  \
    {                                                                                                                  \
        int device = index_of(handle);                                                                                 \
        if (device < 0 || !out)                                                                                        \
            return INVALID_ARGUMENT;                                                                                   \
        *out = (unsigned)(value);                                                                                      \
        return SUCCESS;                                                                                                \
    }

NUMBER(nvmlDeviceGetIndex, device)
NUMBER(nvmlDeviceGetMinorNumber, device)
NUMBER(nvmlDeviceGetPowerUsage, IDLE_MILLIWATTS)
NUMBER(nvmlDeviceGetArchitecture, architecture())
NUMBER(nvmlDeviceGetMemoryBusWidth, vest_gpu()->bus_bits)
NUMBER(nvmlDeviceGetPersistenceMode, 1)
NUMBER(nvmlDeviceGetPerformanceState, 0)
NUMBER(nvmlDeviceGetComputeMode, 0)
NUMBER(nvmlDeviceGetDisplayMode, 0)
NUMBER(nvmlDeviceGetDisplayActive, 0)
NUMBER(nvmlDeviceIsMigDeviceHandle, 0)

VEST_EXPORT int nvmlDeviceGetP2PStatus(void *first, void *second, int capability, int *status)
{
    (void)capability;
    if (index_of(first) < 0 || index_of(second) < 0 || !status)
        return INVALID_ARGUMENT;
    *status = 0; /* NVML_P2P_STATUS_OK */
    return SUCCESS;
}

VEST_EXPORT int nvmlUnitGetCount(unsigned *count)
{
    *count = 0;
    return SUCCESS;
}

/* Lacking on the emulated GPU, as on many real ones: nothing is left unmodelled by saying so. */
#define LACKING(name)                                                                                                  \
    VEST_EXPORT int name(void) { return NOT_SUPPORTED; }

LACKING(nvmlDeviceGetEccMode)
LACKING(nvmlDeviceGetFanSpeed)
LACKING(nvmlDeviceGetFanSpeed_v2)
LACKING(nvmlDeviceGetGpuFabricInfo)
LACKING(nvmlDeviceGetGpuFabricInfoV)
LACKING(nvmlDeviceGetMigMode)
LACKING(nvmlDeviceGetNvLinkCapability)
LACKING(nvmlDeviceGetNvLinkRemoteDeviceType)
LACKING(nvmlDeviceGetNvLinkRemotePciInfo)
LACKING(nvmlDeviceGetNvLinkRemotePciInfo_v2)
LACKING(nvmlDeviceGetNvLinkState)
LACKING(nvmlDeviceGetNvLinkVersion)
LACKING(nvmlDeviceGetSerial)
