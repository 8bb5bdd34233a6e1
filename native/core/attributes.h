/* Public numbers of device attributes, the same in the runtime and the driver API. */
#ifndef VEST_ATTRIBUTES_H
#define VEST_ATTRIBUTES_H

#define VEST_ATTRIBUTE(name, number, on_target) CU_DEVICE_ATTRIBUTE_##name = number,
enum vest_device_attribute {
#include "device_attributes.def"
};
#undef VEST_ATTRIBUTE

#endif
