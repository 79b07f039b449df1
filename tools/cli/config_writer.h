// Writes the options of a conversion in the form that convert_config.h reads.
#pragma once

#include "graph/base/json_writer.h"

namespace ampc {

struct ConvertRequest;

// Every option that changes what comes out, as an object; what decides as another system does has "compat", too.
void WriteConvertConfig(const ConvertRequest& request, JsonWriter& json);

}  // namespace ampc
