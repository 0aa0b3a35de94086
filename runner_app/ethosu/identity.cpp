#include "ethosu/identity.h"

#include <executorch/runtime/platform/log.h>

#include <cinttypes>
#include <cstdio>

namespace ethosu {

Name::Name(const Identity& identity) {
  static constexpr const char* kProducts[] = {"ethos-u55", "ethos-u65", "ethos-u85"};
  const char* product = identity.product() <= kU85 ? kProducts[identity.product()] : "ethos-u?";
  snprintf(text_, sizeof(text_), "%s-%" PRIu32, product, identity.macs());
}

bool matches(const Identity& program, const Identity& npu) {
  if (program.product() != npu.product() || program.macs() != npu.macs()) {
    ET_LOG(Error, "program is compiled for %s, this NPU is %s", Name(program).text(),
           Name(npu).text());
    return false;
  }
  if (program.stream_version() != npu.stream_version() ||
      program.architecture_major() != npu.architecture_major() ||
      program.architecture_minor() > npu.architecture_minor()) {
    ET_LOG(Error,
           "program is compiled for another version of %s: ID 0x%08" PRIx32 " CONFIG 0x%08" PRIx32
           ", this NPU has ID 0x%08" PRIx32 " CONFIG 0x%08" PRIx32,
           Name(npu).text(), program.id, program.config, npu.id, npu.config);
    return false;
  }
  return true;
}

}  // namespace ethosu
