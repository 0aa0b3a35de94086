// Driver of one Ethos-U NPU, at register level: polls nothing but the end of a reset, waits for a
// job by interrupt, and never longer than its bound.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

#include "ethosu/blob.h"
#include "ethosu/identity.h"

namespace ethosu {

// Memory that the NPU knows by number, as Vela uses it.
struct Regions {
  const void* weights;  // 0, read only
  void* scratch;        // 1
  void* fast_scratch;   // 2
};

// Resets the NPU and reads what it is; logs at level E if there is none.
executorch::runtime::Result<Identity> probe();

// Runs `commands`, which the NPU must be able to read, to their end. Logs at level E how it failed.
executorch::runtime::Error run(const Identity& npu, Bytes commands, const Regions& regions);

}  // namespace ethosu
