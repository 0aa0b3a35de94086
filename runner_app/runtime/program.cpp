#include <executorch/runtime/executor/program.h>

#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;
using internal::PteDataMap;
using SegmentInfo = DataLoader::SegmentInfo;

constexpr size_t kHeaderOffset = 8;
constexpr char kHeaderMagic[] = "eh00";
// The optional header behind the file identifier, little-endian, without padding.
struct ExtendedHeader {
  char magic[4];
  uint32_t length;
  uint64_t program_size;
  uint64_t segment_base;
  uint64_t segment_size;
};
static_assert(kHeaderOffset + sizeof(ExtendedHeader) <= Program::kMinHeadBytes);

/// Where the parts of a program file are.
struct FileLayout {
  size_t program_size;
  size_t segment_base;
  size_t segment_size;
};

Error read_layout(DataLoader* loader, FileLayout& layout) {
  Result<size_t> size = loader->size();
  if (!size.ok()) return size.error();
  ET_CHECK_OR_RETURN_ERROR(*size >= Program::kMinHeadBytes, InvalidProgram,
                           "Program of %zu bytes is too short.", *size);
  Result<FreeableBuffer> head =
      loader->load(0, Program::kMinHeadBytes, SegmentInfo(SegmentInfo::Type::Program));
  if (!head.ok()) return head.error();
  ExtendedHeader header;
  std::memcpy(&header, static_cast<const uint8_t*>(head->data()) + kHeaderOffset, sizeof(header));
  if (std::memcmp(header.magic, kHeaderMagic, sizeof(header.magic)) != 0) {
    layout = {*size, 0, 0};
    return Error::Ok;
  }
  // The last field came later.
  if (header.length < sizeof(header)) header.segment_size = 0;
  ET_CHECK_OR_RETURN_ERROR(
      header.length >= offsetof(ExtendedHeader, segment_size) && header.program_size <= *size &&
          header.segment_base <= *size && header.segment_size <= *size - header.segment_base &&
          (header.segment_base == 0 || header.segment_base >= header.program_size),
      InvalidProgram,
      "Header (program %" PRIu64 ", segments %" PRIu64 " + %" PRIu64
      ") does not fit the file of %zu bytes.",
      header.program_size, header.segment_base, header.segment_size, *size);
  const auto base = static_cast<size_t>(header.segment_base);
  layout = {static_cast<size_t>(header.program_size), base, base == 0 ? 0 : *size - base};
  return Error::Ok;
}

/// Segments lie in the file; whatever refers to a segment by index refers to an existing one.
Error check_segments(flat::Table program, const FileLayout& layout) {
  const auto segments = program.tables(slot::kSegments);
  for (const flat::Table segment : segments) {
    const auto offset = segment.get<uint64_t>(slot::kSegmentOffset);
    const auto size = segment.get<uint64_t>(slot::kSegmentSize);
    ET_CHECK_OR_RETURN_ERROR(
        offset <= layout.segment_size && size <= layout.segment_size - offset, InvalidProgram,
        "Segment at %" PRIu64 " of %" PRIu64 " bytes is outside of the file.", offset, size);
  }
  const auto known = [&](flat::Table table, size_t index_slot) {
    return table.get<uint32_t>(index_slot) < segments.size();
  };
  for (const flat::Table mutable_data : program.tables(slot::kMutableSegments)) {
    ET_CHECK_OR_RETURN_ERROR(known(mutable_data, slot::kSegmentIndex), InvalidProgram,
                             "Mutable data in a segment that does not exist.");
  }
  for (const flat::Table named : program.tables(slot::kNamedData)) {
    ET_CHECK_OR_RETURN_ERROR(
        known(named, slot::kNamedSegment) && named.string(slot::kNamedKey) != nullptr,
        InvalidProgram, "Named data without name or in a segment that does not exist.");
  }
  return Error::Ok;
}

Result<FreeableBuffer> load_constants(DataLoader* loader, flat::Table program,
                                      const FileLayout& layout) {
  const flat::Table constants = program.table(slot::kConstantSegment);
  // Entry 0 stands for "no constant".
  if (constants.vector<uint64_t>(slot::kOffsets).size() <= 1) return FreeableBuffer();
  const auto index = constants.get<uint32_t>(slot::kSegmentIndex);
  const auto segments = program.tables(slot::kSegments);
  ET_CHECK_OR_RETURN_ERROR(index < segments.size(), InvalidProgram,
                           "Constants in a segment that does not exist.");
  const auto offset = static_cast<size_t>(segments[index].get<uint64_t>(slot::kSegmentOffset));
  const auto size = static_cast<size_t>(segments[index].get<uint64_t>(slot::kSegmentSize));
  return loader->load(layout.segment_base + offset, size,
                      SegmentInfo(SegmentInfo::Type::Constant, index));
}

flat::Table find_plan(const executorch_flatbuffer::Program* program, const char* name) {
  for (const flat::Table plan : flat::Table(program).tables(slot::kPlans)) {
    const char* plan_name = plan.string(slot::kPlanName);
    if (plan_name != nullptr && std::strcmp(plan_name, name) == 0) return plan;
  }
  return {};
}

}  // namespace

Program::HeaderStatus Program::check_header(const void* data, size_t size) {
  if (size < kMinHeadBytes) return HeaderStatus::ShortData;
  const char* identifier = static_cast<const char*>(data) + sizeof(uint32_t);
  if (std::memcmp(identifier, pte::kIdentifier, 4) == 0) return HeaderStatus::CompatibleVersion;
  // The identifier's first two letters name the format, the others its version.
  return std::memcmp(identifier, pte::kIdentifier, 2) == 0 ? HeaderStatus::IncompatibleVersion
                                                           : HeaderStatus::NotPresent;
}

Result<Program> Program::load(DataLoader* loader, Verification) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "No data loader.");
  FileLayout layout{};
  ET_CHECK_OK_OR_RETURN_ERROR(read_layout(loader, layout));
  Result<FreeableBuffer> data =
      loader->load(0, layout.program_size, SegmentInfo(SegmentInfo::Type::Program));
  if (!data.ok()) return data.error();
  const auto* bytes = static_cast<const uint8_t*>(data->data());
  // Independent of the requested verification: everything after this reads without checks.
  const flat::Fault fault = pte::verify({bytes, layout.program_size});
  ET_CHECK_OR_RETURN_ERROR(!fault, InvalidProgram, "Program is malformed: %s at offset %zu.",
                           fault.what, fault.offset);
  const flat::Table program = flat::root(bytes);
  const auto version = program.get<uint32_t>(slot::kVersion);
  ET_CHECK_OR_RETURN_ERROR(version <= kMaxSupportedSchemaVersion, InvalidProgram,
                           "Program has schema version %" PRIu32
                           ", this runtime reads up to %" PRIu32 ".",
                           version, kMaxSupportedSchemaVersion);
  ET_CHECK_OK_OR_RETURN_ERROR(check_segments(program, layout));

  std::optional<PteDataMap> named_data;
  if (program.tables(slot::kNamedData).size() != 0) {
    Result<PteDataMap> map =
        PteDataMap::create(loader, layout.segment_base,
                           static_cast<const flatbuffers::FlatbufferNamedData*>(
                               program.tables(slot::kNamedData).raw()),
                           static_cast<const flatbuffers::FlatbufferDataSegment*>(
                               program.tables(slot::kSegments).raw()));
    if (!map.ok()) return map.error();
    named_data.emplace(std::move(*map));
  }

  Result<FreeableBuffer> constants = load_constants(loader, program, layout);
  if (!constants.ok()) return constants.error();
  return Program(loader, layout.segment_base, std::move(*data),
                 static_cast<const executorch_flatbuffer::Program*>(program.raw()),
                 std::move(*constants), std::move(named_data));
}

size_t Program::num_methods() const {
  return flat::Table(internal_program_).tables(slot::kPlans).size();
}

Result<const char*> Program::get_method_name(size_t method_index) const {
  ET_CHECK_OR_RETURN_ERROR(method_index < num_methods(), InvalidArgument,
                           "Method %zu of %zu does not exist.", method_index, num_methods());
  const char* name =
      flat::Table(internal_program_).tables(slot::kPlans)[method_index].string(slot::kPlanName);
  ET_CHECK_OR_RETURN_ERROR(name != nullptr, InvalidProgram, "Method %zu has no name.",
                           method_index);
  return name;
}

Result<Method> Program::load_method(const char* method_name, MemoryManager* memory_manager,
                                    EventTracer* event_tracer, const NamedDataMap* named_data_map,
                                    const LoadBackendOptionsMap* backend_options,
                                    Span<const Kernel> kernel_registry) const {
  ET_CHECK_OR_RETURN_ERROR(method_name != nullptr && memory_manager != nullptr, InvalidArgument,
                           "No method name or no memory manager.");
  const flat::Table plan = find_plan(internal_program_, method_name);
  ET_CHECK_OR_RETURN_ERROR(plan, InvalidArgument, "Program has no method '%s'.", method_name);
  // The plan is never written through this pointer; Method's interface asks for it.
  auto* opaque = static_cast<executorch_flatbuffer::ExecutionPlan*>(const_cast<void*>(plan.raw()));
  return Method::load(opaque, this, memory_manager, event_tracer, named_data_map, backend_options,
                      kernel_registry);
}

Result<MethodMeta> Program::method_meta(const char* method_name) const {
  ET_CHECK_OR_RETURN_ERROR(method_name != nullptr, InvalidArgument, "No method name.");
  const flat::Table plan = find_plan(internal_program_, method_name);
  ET_CHECK_OR_RETURN_ERROR(plan, InvalidArgument, "Program has no method '%s'.", method_name);
  return MethodMeta(static_cast<const executorch_flatbuffer::ExecutionPlan*>(plan.raw()));
}

Result<const char*> Program::get_output_flattening_encoding(const char* method_name) const {
  const flat::Table plan = find_plan(internal_program_, method_name);
  ET_CHECK_OR_RETURN_ERROR(plan, InvalidArgument, "Program has no method '%s'.", method_name);
  const char* text = plan.table(slot::kContainerMeta).string(slot::kEncodedOutputs);
  ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidProgram, "Method '%s' has no encoding.",
                           method_name);
  return text;
}

Result<const NamedDataMap*> Program::get_named_data_map() const {
  if (!pte_data_map_.has_value()) return Error::NotFound;
  return &pte_data_map_.value();
}

Result<const void*> Program::get_constant_buffer_data(size_t buffer_idx, size_t nbytes) const {
  const flat::Table program(internal_program_);
  const flat::Table constants = program.table(slot::kConstantSegment);
  const auto offsets = constants.vector<uint64_t>(slot::kOffsets);
  Span<const uint8_t> data;
  if (!offsets.empty()) {
    if (buffer_idx < offsets.size() && offsets[buffer_idx] <= constant_segment_data_.size()) {
      const auto offset = static_cast<size_t>(offsets[buffer_idx]);
      data = {static_cast<const uint8_t*>(constant_segment_data_.data()) + offset,
              constant_segment_data_.size() - offset};
    }
  } else if (buffer_idx < program.tables(slot::kConstantBuffer).size()) {
    data = program.tables(slot::kConstantBuffer)[buffer_idx].vector<uint8_t>(slot::kBlob);
  }
  ET_CHECK_OR_RETURN_ERROR(data.data() != nullptr && nbytes <= data.size(), InvalidProgram,
                           "Constant %zu of %zu bytes is not in the program.", buffer_idx, nbytes);
  return static_cast<const void*>(data.data());
}

Error Program::get_backend_delegate_data(size_t index, const void** out_data,
                                         size_t* out_size) const {
  const auto list = flat::Table(internal_program_).tables(slot::kDelegateData);
  ET_CHECK_OR_RETURN_ERROR(index < list.size(), NotFound,
                           "Delegate data %zu of %zu does not exist.", index, list.size());
  const auto data = list[index].vector<uint8_t>(slot::kBlob);
  *out_data = data.data();
  *out_size = data.size();
  return Error::Ok;
}

Result<FreeableBuffer> Program::LoadSegment(const SegmentInfo& segment_info) const {
  const size_t index = segment_info.segment_index;
  const auto segments = flat::Table(internal_program_).tables(slot::kSegments);
  ET_CHECK_OR_RETURN_ERROR(loader_ != nullptr && index < segments.size(), NotFound,
                           "Segment %zu of %zu does not exist.", index, segments.size());
  const auto offset = static_cast<size_t>(segments[index].get<uint64_t>(slot::kSegmentOffset));
  const auto size = static_cast<size_t>(segments[index].get<uint64_t>(slot::kSegmentSize));
  return loader_->load(segment_base_offset_ + offset, size, segment_info);
}

Error Program::load_mutable_subsegment_into(size_t mutable_data_segments_index, size_t offset_index,
                                            size_t size, void* buffer) const {
  const flat::Table program(internal_program_);
  const auto lists = program.tables(slot::kMutableSegments);
  ET_CHECK_OR_RETURN_ERROR(loader_ != nullptr && mutable_data_segments_index < lists.size(),
                           NotFound, "Mutable data %zu of %zu does not exist.",
                           mutable_data_segments_index, lists.size());
  const flat::Table list = lists[mutable_data_segments_index];
  const auto offsets = list.vector<uint64_t>(slot::kOffsets);
  ET_CHECK_OR_RETURN_ERROR(offset_index < offsets.size(), NotFound,
                           "Mutable tensor %zu of %zu does not exist.", offset_index,
                           offsets.size());
  const auto index = list.get<uint32_t>(slot::kSegmentIndex);
  const flat::Table segment = program.tables(slot::kSegments)[index];
  const auto available = segment.get<uint64_t>(slot::kSegmentSize);
  const uint64_t offset = offsets[offset_index];
  ET_CHECK_OR_RETURN_ERROR(offset <= available && size <= available - offset, InvalidProgram,
                           "Mutable tensor %zu of %zu bytes is outside of its segment.",
                           offset_index, size);
  const auto base = static_cast<size_t>(segment.get<uint64_t>(slot::kSegmentOffset));
  return loader_->load_into(segment_base_offset_ + base + static_cast<size_t>(offset), size,
                            SegmentInfo(SegmentInfo::Type::Mutable, index), buffer);
}

}  // namespace executorch::runtime
