#include "program_schema.h"

namespace pte {
namespace {

using flat::Field;
using flat::scalar;
using flat::string;
using flat::table;
using flat::tables;
using flat::unread;
using flat::vector;

enum Type : uint8_t {
  kProgramType,
  kPlanType,
  kContainerMetaType,
  kValueTableType,
  // Members of KernelTypes.
  kNullType,
  kIntType,
  kBoolType,
  kDoubleType,
  kTensorType,
  kStringType,
  kIntListType,
  kDoubleListType,
  kBoolListType,
  kTensorListType,
  kOptionalTensorListType,
  // Members of InstructionArguments.
  kKernelCallType,
  kDelegateCallType,
  kMoveCallType,
  kJumpFalseCallType,
  kFreeCallType,
  kAllocationType,
  kExtraInfoType,
  kChainType,
  kInstructionType,
  kOperatorType,
  kDelegateType,
  kDataReferenceType,
  kCompileSpecType,
  kBlobType,
  kSegmentType,
  kSubsegmentsType,
  kNamedType,
  kBufferDeviceType,
};

constexpr Field kProgram[] = {scalar(4),
                              tables(kPlanType),
                              tables(kBlobType),
                              tables(kBlobType),
                              tables(kSegmentType),
                              table(kSubsegmentsType),
                              tables(kSubsegmentsType),
                              tables(kNamedType)};
constexpr Field kPlan[] = {
    string(),  table(kContainerMetaType), tables(kValueTableType), vector(4),
    vector(4), tables(kChainType),        tables(kOperatorType),   tables(kDelegateType),
    vector(8), tables(kBufferDeviceType)};
constexpr Field kTwoStrings[] = {string(), string()};
constexpr Field kValue[] = {flat::union_of(kNullType, 11), unread()};
constexpr Field kLong[] = {scalar(8)};
constexpr Field kByte[] = {scalar(1)};
constexpr Field kText[] = {string()};
constexpr Field kBytes[] = {vector(1)};
constexpr Field kInts[] = {vector(4)};
constexpr Field kLongs[] = {vector(8)};
constexpr Field kTensor[] = {scalar(1),
                             scalar(4),
                             vector(4),
                             vector(1),
                             unread(),
                             scalar(4),
                             table(kAllocationType),
                             unread(),
                             scalar(1),
                             table(kExtraInfoType)};
constexpr Field kAllocation[] = {scalar(4), scalar(4), scalar(4)};
constexpr Field kExtraInfo[] = {scalar(8), string(), scalar(1), scalar(1), scalar(1)};
constexpr Field kChain[] = {unread(), unread(), tables(kInstructionType), unread()};
constexpr Field kInstruction[] = {flat::union_of(kKernelCallType, 5), unread()};
constexpr Field kCall[] = {scalar(4), vector(4)};
constexpr Field kTwoInts[] = {scalar(4), scalar(4)};
constexpr Field kInt[] = {scalar(4)};
constexpr Field kDelegate[] = {string(), table(kDataReferenceType), tables(kCompileSpecType)};
constexpr Field kDataReference[] = {scalar(1), scalar(4)};
constexpr Field kCompileSpec[] = {string(), vector(1)};
constexpr Field kSegment[] = {scalar(8), scalar(8)};
constexpr Field kSubsegments[] = {scalar(4), vector(8)};
constexpr Field kNamed[] = {string(), scalar(4)};
constexpr Field kBufferDevice[] = {scalar(4), scalar(1), scalar(1)};

// In the order of Type.
constexpr flat::TableType kTypes[] = {
    flat::type(kProgram),
    flat::type(kPlan),
    flat::type(kTwoStrings),
    flat::type(kValue),
    {},
    flat::type(kLong),
    flat::type(kByte),
    flat::type(kLong),
    flat::type(kTensor),
    flat::type(kText),
    flat::type(kLongs),
    flat::type(kLongs),
    flat::type(kBytes),
    flat::type(kInts),
    flat::type(kInts),
    flat::type(kCall),
    flat::type(kCall),
    flat::type(kTwoInts),
    flat::type(kTwoInts),
    flat::type(kInt),
    flat::type(kAllocation),
    flat::type(kExtraInfo),
    flat::type(kChain),
    flat::type(kInstruction),
    flat::type(kTwoStrings),
    flat::type(kDelegate),
    flat::type(kDataReference),
    flat::type(kCompileSpec),
    flat::type(kBytes),
    flat::type(kSegment),
    flat::type(kSubsegments),
    flat::type(kNamed),
    flat::type(kBufferDevice),
};
static_assert(sizeof(kTypes) / sizeof(kTypes[0]) == kBufferDeviceType + 1);

}  // namespace

flat::Fault verify(flat::Span<const uint8_t> data) {
  return flat::verify(data, kIdentifier, kTypes);
}

executorch::runtime::Tag tag_of(flat::Table value) {
  using executorch::runtime::Tag;
  static constexpr Tag kTags[] = {Tag::None,     Tag::None,       Tag::Int,
                                  Tag::Bool,     Tag::Double,     Tag::Tensor,
                                  Tag::String,   Tag::ListInt,    Tag::ListDouble,
                                  Tag::ListBool, Tag::ListTensor, Tag::ListOptionalTensor};
  return kTags[value.get<uint8_t>(slot::kValueType)];
}

}  // namespace pte
