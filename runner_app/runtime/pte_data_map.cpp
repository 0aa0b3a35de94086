#include <executorch/runtime/executor/pte_data_map.h>

#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime::internal {
namespace slot = pte::slot;

using Tables = flat::Offsets<flat::Table>;

Result<PteDataMap> PteDataMap::create(DataLoader* loader, size_t segment_base_offset,
                                      const flatbuffers::FlatbufferNamedData* named_data,
                                      const flatbuffers::FlatbufferDataSegment* segments) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr && named_data != nullptr && segments != nullptr,
                           InvalidArgument, "Named data needs a loader, names and segments.");
  return PteDataMap(loader, segment_base_offset, named_data, segments);
}

Result<FreeableBuffer> PteDataMap::get_data(std::string_view key) const {
  for (const flat::Table named : Tables(named_data_)) {
    if (key != named.string(slot::kNamedKey)) continue;
    const auto index = named.get<uint32_t>(slot::kNamedSegment);
    const flat::Table segment = Tables(segments_)[index];
    const auto offset = static_cast<size_t>(segment.get<uint64_t>(slot::kSegmentOffset));
    const auto size = static_cast<size_t>(segment.get<uint64_t>(slot::kSegmentSize));
    return loader_->load(segment_base_offset_ + offset, size,
                         DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Constant, index));
  }
  return Error::NotFound;
}

Result<uint32_t> PteDataMap::get_num_keys() const {
  return static_cast<uint32_t>(Tables(named_data_).size());
}

Result<const char*> PteDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < Tables(named_data_).size(), InvalidArgument,
                           "Named data %" PRIu32 " does not exist.", index);
  return Tables(named_data_)[index].string(slot::kNamedKey);
}

}  // namespace executorch::runtime::internal
