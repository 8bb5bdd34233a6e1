/* Clocks, sensors, modes, and features that the emulated GPU does not have. */
#include "nvml.h"

enum { CLOCK_MEMORY = 2, IDLE_CELSIUS = 30, IDLE_MILLIWATTS = 70000 };

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

/* The emulated GPU does not have it, as many real ones do not: that is an answer, and nothing is left unmodelled. */
#define NOT_THERE(name)                                                                                                \
    VEST_EXPORT int name(void) { return NOT_SUPPORTED; }

NOT_THERE(nvmlDeviceGetEccMode)
NOT_THERE(nvmlDeviceGetFanSpeed)
NOT_THERE(nvmlDeviceGetFanSpeed_v2)
NOT_THERE(nvmlDeviceGetGpuFabricInfo)
NOT_THERE(nvmlDeviceGetGpuFabricInfoV)
NOT_THERE(nvmlDeviceGetMigMode)
NOT_THERE(nvmlDeviceGetNvLinkCapability)
NOT_THERE(nvmlDeviceGetNvLinkRemoteDeviceType)
NOT_THERE(nvmlDeviceGetNvLinkRemotePciInfo)
NOT_THERE(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NOT_THERE(nvmlDeviceGetNvLinkState)
NOT_THERE(nvmlDeviceGetNvLinkVersion)
NOT_THERE(nvmlDeviceGetSerial)
