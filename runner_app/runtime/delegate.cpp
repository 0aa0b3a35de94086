#include "delegate.h"

#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime {

namespace slot = pte::slot;

Error BackendDelegate::load(flat::Table serialized, const Program* program,
                            BackendInitContext& context, BackendDelegate* place,
                            bool* constructed) {
  const char* id = serialized.string(slot::kBackendId);
  ET_CHECK_OR_RETURN_ERROR(id != nullptr, InvalidProgram, "Delegate without backend.");
  const BackendInterface* backend = get_backend_class(id);
  ET_CHECK_OR_RETURN_ERROR(backend != nullptr, NotFound, "Backend %s is not registered.", id);
  ET_CHECK_OR_RETURN_ERROR(backend->is_available(), NotFound, "Backend %s is not available.", id);
  Result<FreeableBuffer> data = processed(serialized, id, program);
  if (!data.ok()) return data.error();
  auto* delegate = new (place) BackendDelegate(backend, std::move(*data));
  *constructed = true;
  return delegate->init(context, serialized);
}

Result<FreeableBuffer> BackendDelegate::processed(flat::Table serialized, const char* id,
                                                  const Program* program) {
  enum Location : uint8_t { kInline, kSegment };
  const flat::Table reference = serialized.table(slot::kProcessed);
  const auto location = reference.get<uint8_t>(slot::kDataLocation);
  const auto index = reference.get<uint32_t>(slot::kDataIndex);
  ET_CHECK_OR_RETURN_ERROR(reference && location <= kSegment, InvalidProgram,
                           "Data of a delegate for %s is at an unknown place.", id);
  if (location == kSegment) {
    return program->LoadSegment(
        DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Backend, index, id));
  }
  const void* data = nullptr;
  size_t size = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(program->get_backend_delegate_data(index, &data, &size));
  return FreeableBuffer(data, size, nullptr);
}

Error BackendDelegate::init(BackendInitContext& context, flat::Table serialized) {
  const auto list = serialized.tables(slot::kCompileSpecs);
  auto* specs = context.get_runtime_allocator()->allocateList<CompileSpec>(list.size());
  if (specs == nullptr) return Error::MemoryAllocationFailed;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto value = list[i].vector<uint8_t>(slot::kSpecValue);
    const char* key = list[i].string(slot::kSpecKey);
    ET_CHECK_OR_RETURN_ERROR(key != nullptr, InvalidProgram, "Compile spec without name.");
    specs[i] = {key, {const_cast<uint8_t*>(value.data()), value.size()}};
  }
  Result<DelegateHandle*> handle = backend_->init(context, &data_, {specs, list.size()});
  if (!handle.ok()) {
    ET_LOG(Error, "Backend %s failed to initialize: 0x%" PRIx32 ".",
           serialized.string(slot::kBackendId), static_cast<uint32_t>(handle.error()));
    return handle.error();
  }
  handle_ = *handle;
  loaded_ = true;
  return Error::Ok;
}

}  // namespace executorch::runtime
