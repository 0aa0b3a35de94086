// The ExecuTorch backend that runs what Vela compiled.
#pragma once

#include <executorch/runtime/core/error.h>

namespace ethosu {

constexpr const char* kBackendName = "EthosUBackend";

executorch::runtime::Error register_backend();

}  // namespace ethosu
