// The program schema (program.fbs, "ET12") as slots and table types for the FlatBuffers reader.
#pragma once

#include <executorch/runtime/core/tag.h>

#include "flat_reader.h"

namespace pte {

inline constexpr char kIdentifier[] = "ET12";

/// Verifies the FlatBuffers part of a program.
flat::Fault verify(flat::Span<const uint8_t> data);

/// Vtable slots, one enumeration a table. A union's type slot ends in "Type".
namespace slot {
enum Program {
  kVersion,
  kPlans,
  kConstantBuffer,
  kDelegateData,
  kSegments,
  kConstantSegment,
  kMutableSegments,
  kNamedData
};
enum Plan {
  kPlanName,
  kContainerMeta,
  kValues,
  kInputs,
  kOutputs,
  kChains,
  kOperators,
  kDelegates,
  kBufferSizes,
  kBufferDevices
};
enum ContainerMeta { kEncodedInputs, kEncodedOutputs };
enum Value { kValueType, kValue };
enum Primitive { kPrimitive };  // the only field of Int, Bool, Double, String and of the lists
enum Tensor {
  kScalarType,
  kStorageOffset,
  kSizes,
  kDimOrder,
  kRequiresGrad,
  kDataBuffer,
  kAllocation,
  kLayout,
  kDynamism,
  kExtraInfo
};
enum Allocation { kMemoryId, kOffsetLow, kOffsetHigh };
enum ExtraInfo { kMutableSegment, kFullName, kLocation, kDeviceType, kDeviceIndex };
enum Chain { kChainInputs, kChainOutputs, kInstructions, kStackTrace };
enum Instruction { kArgumentsType, kArguments };
enum Call { kCallee, kCallArgs };  // KernelCall and DelegateCall
enum Move { kMoveFrom, kMoveTo };
enum Jump { kCondition, kDestination };
enum Free { kFreedValue };
enum Operator { kOperatorName, kOverload };
enum Delegate { kBackendId, kProcessed, kCompileSpecs };
enum DataReference { kDataLocation, kDataIndex };
enum CompileSpec { kSpecKey, kSpecValue };
enum Blob { kBlob };  // Buffer and BackendDelegateInlineData
enum Segment { kSegmentOffset, kSegmentSize };
enum Subsegments { kSegmentIndex, kOffsets };
enum Named { kNamedKey, kNamedSegment };
enum BufferDevice { kBufferIndex, kBufferDeviceType, kBufferDeviceIndex };
}  // namespace slot

/// Members of the union KernelTypes, in the schema's order; 0 is none.
enum class ValueType : uint8_t {
  kNone,
  kNull,
  kInt,
  kBool,
  kDouble,
  kTensor,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList
};

/// Members of the union InstructionArguments, in the schema's order; 0 is none.
enum class InstructionType : uint8_t { kNone, kKernel, kDelegate, kMove, kJumpFalse, kFree };

/// The runtime's tag of a serialized value; None for a value without type.
executorch::runtime::Tag tag_of(flat::Table value);

inline ValueType type_of(flat::Table value) {
  return static_cast<ValueType>(value.get<uint8_t>(slot::kValueType));
}

/// The name under which the tensor of a value can be found from outside, or nullptr.
inline const char* full_name(flat::Table tensor) {
  return tensor.table(slot::kExtraInfo).string(slot::kFullName);
}

}  // namespace pte
