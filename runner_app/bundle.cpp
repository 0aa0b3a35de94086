#include "bundle.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

#include <cstring>

#include "compare.h"

using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

namespace {

constexpr char kIdentifier[] = "BP08";
constexpr size_t kProgramAlignment = 16;

// Tables and their slots, as in bundled_program_schema.fbs.
enum BundleSlot : size_t { kSuites = 1, kProgram = 2 };
enum SuiteSlot : size_t { kMethodName = 0, kTestCases = 1 };
enum CaseSlot : size_t { kInputs = 0, kExpectedOutputs = 1 };
enum ValueSlot : size_t { kMember = 0, kMemberTable = 1 };
enum TensorSlot : size_t { kScalarType = 0, kSizes = 1, kData = 2, kDimOrder = 3 };
enum Member : uint8_t { kTensor = 1, kInt = 2, kBool = 3, kDouble = 4 };

enum Type : uint8_t { kBundleType, kSuiteType, kCaseType, kValueType, kTensorType };
constexpr flat::Field kBundleFields[] = {flat::scalar(4), flat::tables(kSuiteType),
                                         flat::vector(1)};
constexpr flat::Field kSuiteFields[] = {flat::string(), flat::tables(kCaseType)};
constexpr flat::Field kCaseFields[] = {flat::tables(kValueType), flat::tables(kValueType)};
constexpr flat::Field kValueFields[] = {flat::union_of(kTensorType, 4), flat::unread()};
constexpr flat::Field kTensorFields[] = {flat::scalar(1), flat::vector(4), flat::vector(1),
                                         flat::vector(1)};
constexpr flat::Field kIntFields[] = {flat::scalar(8)};
constexpr flat::Field kBoolFields[] = {flat::scalar(1)};
constexpr flat::Field kDoubleFields[] = {flat::scalar(8)};
constexpr flat::TableType kTypes[] = {flat::type(kBundleFields), flat::type(kSuiteFields),
                                      flat::type(kCaseFields),   flat::type(kValueFields),
                                      flat::type(kTensorFields), flat::type(kIntFields),
                                      flat::type(kBoolFields),   flat::type(kDoubleFields)};

// A bundled value whose tensor, if it is one, was checked against its own data.
struct BundledValue {
  Tag tag = Tag::None;
  TensorDescription tensor{};
  Span<const uint8_t> data;
  EValue scalar;
};

Result<BundledValue> read_tensor(flat::Table table) {
  BundledValue value;
  value.tag = Tag::Tensor;
  value.tensor = {static_cast<ScalarType>(table.get<int8_t>(kScalarType)),
                  table.vector<int32_t>(kSizes), table.vector<uint8_t>(kDimOrder)};
  value.data = table.vector<uint8_t>(kData);
  const auto bytes = tensor_bytes(value.tensor);
  if (!bytes.ok()) return bytes.error();
  ET_CHECK_OR_RETURN_ERROR(value.data.size() == *bytes, InvalidExternalData,
                           "Bundled tensor has %zu bytes of data, its shape needs %zu.",
                           value.data.size(), *bytes);
  const size_t alignment = executorch::runtime::elementSize(value.tensor.type);
  ET_CHECK_OR_RETURN_ERROR(
      reinterpret_cast<uintptr_t>(value.data.data()) % alignment == 0 || value.data.empty(),
      InvalidExternalData, "Bundled tensor's data is not aligned to its elements.");
  return value;
}

Result<BundledValue> read_value(flat::Table table) {
  const flat::Table member = table.table(kMemberTable);
  BundledValue value;
  switch (table.get<uint8_t>(kMember)) {
    case kTensor:
      return read_tensor(member);
    case kInt:
      value.scalar = EValue(member.get<int64_t>(0));
      break;
    case kBool:
      value.scalar = EValue(member.get<uint8_t>(0) != 0);
      break;
    case kDouble:
      value.scalar = EValue(member.get<double>(0));
      break;
    default:
      break;  // an absent value is a None
  }
  value.tag = value.scalar.tag;
  return value;
}

}  // namespace

size_t BundledCase::count() const { return test_case_.tables(kInputs).size(); }

Result<EValue> BundledCase::value(const MethodMeta& meta, size_t index, Pools& pools) const {
  const auto input = read_value(test_case_.tables(kInputs)[index]);
  if (!input.ok()) return input.error();
  const auto tag = meta.input_tag(index);
  if (!tag.ok()) return tag.error();
  ET_CHECK_OR_RETURN_ERROR(input->tag == *tag, InvalidExternalData,
                           "Bundled input %zu is a %s, the program expects a %s.", index,
                           tag_to_string(input->tag), tag_to_string(*tag));
  if (input->tag != Tag::Tensor) return EValue(input->scalar);
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) return info.error();
  ET_CHECK_OR_RETURN_ERROR(input->tensor.type == info->scalar_type(), InvalidExternalData,
                           "Bundled input %zu is of type %s, the program expects %s.", index,
                           executorch::runtime::toString(input->tensor.type),
                           executorch::runtime::toString(info->scalar_type()));
  return make_tensor(input->tensor, input->data.data(), pools.method);
}

bool BundledCase::verify(const Method& method) const {
  const auto expected = test_case_.tables(kExpectedOutputs);
  if (expected.size() != method.outputs_size() || expected.size() == 0) {
    ET_LOG(Error, "The bundle expects %zu outputs, the program has %zu.", expected.size(),
           method.outputs_size());
    return false;
  }
  bool equal = true;
  for (size_t i = 0; i < expected.size(); i++) {
    const auto value = read_value(expected[i]);
    if (!value.ok()) return false;
    const EValue& output = method.get_output(i);
    if (value->tag != output.tag) {
      ET_LOG(Error, "Output %zu is a %s, the bundle expects a %s.", i, tag_to_string(output.tag),
             tag_to_string(value->tag));
      equal = false;
    } else if (value->tag == Tag::Tensor) {
      equal = tensors_match(i, value->tensor, value->data.data(), output.toTensor()) && equal;
    } else {
      equal = scalars_match(i, value->scalar, output) && equal;
    }
  }
  return equal;
}

bool Bundle::is_bundle(Span<const uint8_t> file) {
  return file.size() >= 8 && memcmp(file.data() + 4, kIdentifier, 4) == 0;
}

Error Bundle::open(Span<const uint8_t> file) {
  const flat::Fault fault = flat::verify(file, kIdentifier, kTypes);
  if (fault) {
    ET_LOG(Error, "Bundle is malformed: %s at offset %zu.", fault.what, fault.offset);
    return Error::InvalidExternalData;
  }
  root_ = flat::root(file.data());
  program_ = root_.vector<uint8_t>(kProgram);
  ET_CHECK_OR_RETURN_ERROR(!program_.empty(), InvalidExternalData, "Bundle has no program.");
  ET_CHECK_OR_RETURN_ERROR(
      reinterpret_cast<uintptr_t>(program_.data()) % kProgramAlignment == 0, InvalidExternalData,
      "Bundle is malformed: its program is not aligned to %zu bytes.", kProgramAlignment);
  return Error::Ok;
}

Result<flat::Offsets<flat::Table>> Bundle::test_cases(const char* method_name) const {
  for (const flat::Table suite : root_.tables(kSuites)) {
    const char* name = suite.string(kMethodName);
    if (name == nullptr || strcmp(name, method_name) != 0) continue;
    if (suite.tables(kTestCases).size() > 0) return suite.tables(kTestCases);
  }
  ET_LOG(Error, "Bundle has no test case for method '%s'.", method_name);
  return Error::NotFound;
}
