// FlatBuffers reader: data is verified once against a schema, then read without further checks.
//
//   constexpr flat::Field kSuite[] = {flat::string(), flat::tables(kCaseType)};
//   constexpr flat::Field kBundle[] = {flat::scalar(4), flat::tables(kSuiteType), flat::vector(1)};
//   constexpr flat::TableType kTypes[] = {flat::type(kBundle), flat::type(kSuite), ...};
//
//   flat::Fault fault = flat::verify({data, size}, "BP08", kTypes);
//   if (fault) ET_LOG(Error, "Bundle: %s at offset %zu.", fault.what, fault.offset);
//   flat::Table bundle = flat::root(data);
//   auto program = bundle.vector<uint8_t>(2);             // Span<const uint8_t>, empty if absent
//   for (flat::Table suite : bundle.tables(1)) {
//     const char* name = suite.string(0);                 // nullptr if absent
//     for (flat::Table test : suite.tables(1)) { ... }
//   }
//
// Slots are vtable slots: the position of a field in its table's schema, where a union counts
// twice (its type, then its value). Type 0 is the root. Types must not refer to each other in a
// circle, so that the depth of verification is that of the schema.
#pragma once

#include <executorch/runtime/core/span.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flat {

using executorch::runtime::Span;

// ---------------------------------------------------------------------------------------------
// Schema
// ---------------------------------------------------------------------------------------------

enum class Kind : uint8_t { kUnread, kScalar, kString, kVector, kStrings, kTable, kTables, kUnion };

/// One vtable slot. `arg` is the size of a scalar or vector element, or the (first) table type.
struct Field {
  Kind kind = Kind::kUnread;
  uint8_t arg = 0;
  uint8_t members = 0;
};

struct TableType {
  const Field* fields = nullptr;
  uint8_t count = 0;
};

/// A slot that is never read, hence not verified; also the value slot that follows a union.
constexpr Field unread() { return {}; }
constexpr Field scalar(uint8_t size) { return {Kind::kScalar, size}; }
constexpr Field string() { return {Kind::kString}; }
/// A vector of scalars of `size` bytes, nested buffers and byte blobs among them.
constexpr Field vector(uint8_t size) { return {Kind::kVector, size}; }
constexpr Field strings() { return {Kind::kStrings}; }
constexpr Field table(uint8_t type) { return {Kind::kTable, type}; }
constexpr Field tables(uint8_t type) { return {Kind::kTables, type}; }
/// A union of tables whose members are the types `first` … `first + members - 1`.
constexpr Field union_of(uint8_t first, uint8_t members) { return {Kind::kUnion, first, members}; }

template <size_t N>
constexpr TableType type(const Field (&fields)[N]) {
  return {fields, N};
}

// ---------------------------------------------------------------------------------------------
// Verification
// ---------------------------------------------------------------------------------------------

/// What is wrong with the data and where; false if nothing is.
struct Fault {
  const char* what = nullptr;
  size_t offset = 0;
  explicit operator bool() const { return what != nullptr; }
};

/// Checks that everything reachable from the root through `types` lies within `data`, aligned for
/// direct access: tables, vtables, fields, vectors (also length times size), strings (terminated),
/// union types. Time is linear in the size of the data, whatever the data says.
Fault verify(Span<const uint8_t> data, const char* identifier, Span<const TableType> types);

// ---------------------------------------------------------------------------------------------
// Access to verified data
// ---------------------------------------------------------------------------------------------

namespace internal {
template <typename T>
T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
inline const uint8_t* follow(const uint8_t* p) { return p + load<uint32_t>(p); }
}  // namespace internal

/// A vector of tables or strings.
template <typename T>
class Offsets {
 public:
  Offsets() = default;
  explicit Offsets(const void* vector) : vector_(static_cast<const uint8_t*>(vector)) {}

  size_t size() const { return vector_ == nullptr ? 0 : internal::load<uint32_t>(vector_); }
  T operator[](size_t index) const {
    return T(internal::follow(vector_ + sizeof(uint32_t) * (index + 1)));
  }

  struct Iterator {
    const Offsets* offsets;
    size_t index;
    T operator*() const { return (*offsets)[index]; }
    Iterator& operator++() { return ++index, *this; }
    bool operator!=(const Iterator& other) const { return index != other.index; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  /// The vector as an opaque pointer, from which it can be constructed again.
  const void* raw() const { return vector_; }

 private:
  const uint8_t* vector_ = nullptr;
};

/// A string of verified data; terminated, so that data() is a C string.
struct String {
  explicit String(const uint8_t* p) : p(p) {}
  const char* data() const { return reinterpret_cast<const char*>(p + sizeof(uint32_t)); }
  size_t size() const { return internal::load<uint32_t>(p); }
  const uint8_t* p;
};

class Table {
 public:
  Table() = default;
  explicit Table(const void* table) : table_(static_cast<const uint8_t*>(table)) {}

  /// False for the table of an absent field; every field of such a table is absent as well.
  explicit operator bool() const { return table_ != nullptr; }
  bool has(size_t slot) const { return field(slot) != nullptr; }

  template <typename T>
  T get(size_t slot, T absent = T()) const {
    const uint8_t* p = field(slot);
    return p == nullptr ? absent : internal::load<T>(p);
  }
  /// The string as a C string, or nullptr if absent.
  const char* string(size_t slot) const {
    const uint8_t* p = target(slot);
    return p == nullptr ? nullptr : String(p).data();
  }
  template <typename T>
  Span<const T> vector(size_t slot) const {
    const uint8_t* p = target(slot);
    if (p == nullptr) return {};
    const auto size = internal::load<uint32_t>(p);
    return {reinterpret_cast<const T*>(p + sizeof(uint32_t)), size};
  }
  /// The table of a field or of a union's value slot.
  Table table(size_t slot) const { return Table(target(slot)); }
  Offsets<Table> tables(size_t slot) const { return Offsets<Table>(target(slot)); }
  Offsets<String> strings(size_t slot) const { return Offsets<String>(target(slot)); }

  /// The table as an opaque pointer, from which it can be constructed again.
  const void* raw() const { return table_; }

 private:
  const uint8_t* field(size_t slot) const;
  const uint8_t* target(size_t slot) const;

  const uint8_t* table_ = nullptr;
};

/// The root table of verified data.
inline Table root(const void* data) {
  return Table(internal::follow(static_cast<const uint8_t*>(data)));
}

}  // namespace flat
