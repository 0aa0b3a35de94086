// The backends that this image was built with (CMake option DELEGATES).
#pragma once

#include <executorch/runtime/core/error.h>

executorch::runtime::Error register_delegates();
