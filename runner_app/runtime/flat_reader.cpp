#include "flat_reader.h"

namespace flat {
namespace {

using internal::load;

constexpr size_t kOffsetSize = sizeof(uint32_t);
constexpr size_t kVtableHeader = 2 * sizeof(uint16_t);  // its own size and the table's

class Verifier {
 public:
  Verifier(Span<const uint8_t> data, Span<const TableType> types)
      : base_(data.data()),
        size_(data.size()),
        tables_left_(data.size() / kOffsetSize),
        types_(types) {}

  Fault run(const char* identifier) {
    if (fits(0, 2 * kOffsetSize, kOffsetSize)) {
      if (std::memcmp(base_ + kOffsetSize, identifier, kOffsetSize) != 0) {
        fail("wrong file identifier", kOffsetSize);
      } else {
        size_t root;
        if (follow(0, &root)) table(root, 0);
      }
    }
    return fault_;
  }

 private:
  bool fail(const char* what, size_t offset) {
    fault_ = {what, offset};
    return false;
  }

  /// `size` bytes at `pos` lie within the data, aligned in memory.
  bool fits(size_t pos, size_t size, size_t alignment) {
    if (pos > size_ || size > size_ - pos) return fail("offset or length out of range", pos);
    if ((reinterpret_cast<uintptr_t>(base_) + pos) % alignment != 0) {
      return fail("misaligned data", pos);
    }
    return true;
  }

  bool follow(size_t pos, size_t* target) {
    const uint32_t offset = load<uint32_t>(base_ + pos);
    if (offset > size_ - pos) return fail("offset out of range", pos);
    *target = pos + offset;
    return true;
  }

  bool vector(size_t pos, size_t element, size_t alignment, size_t* length) {
    if (!fits(pos, kOffsetSize, kOffsetSize)) return false;
    *length = load<uint32_t>(base_ + pos);
    if (*length > size_ / element) return fail("vector longer than the data", pos);
    return *length == 0 || fits(pos + kOffsetSize, *length * element, alignment);
  }

  bool string(size_t pos) {
    size_t length;
    if (!vector(pos, 1, 1, &length)) return false;
    const size_t end = pos + kOffsetSize + length;
    if (end >= size_ || base_[end] != 0) return fail("string without terminator", pos);
    return true;
  }

  /// A vector of tables, or of strings if `type` is negative.
  bool offsets(size_t pos, int type) {
    size_t length;
    if (!vector(pos, kOffsetSize, kOffsetSize, &length)) return false;
    for (size_t i = 0; i < length; ++i) {
      size_t target;
      if (!follow(pos + kOffsetSize * (i + 1), &target)) return false;
      if (!(type < 0 ? counted(pos) && string(target) : table(target, type))) return false;
    }
    return true;
  }

  /// Bounds the time that data whose tables overlap can take.
  bool counted(size_t pos) {
    if (tables_left_ == 0) return fail("more tables than the data has room for", pos);
    --tables_left_;
    return true;
  }

  bool table(size_t pos, uint8_t type) {
    if (!counted(pos) || !fits(pos, kOffsetSize, kOffsetSize)) return false;
    const int64_t vtable = static_cast<int64_t>(pos) - load<int32_t>(base_ + pos);
    if (vtable < 0 || vtable > static_cast<int64_t>(size_)) {
      return fail("vtable out of range", pos);
    }
    const size_t at = static_cast<size_t>(vtable);
    if (!fits(at, kVtableHeader, sizeof(uint16_t))) return false;
    const size_t vtable_size = load<uint16_t>(base_ + at);
    if (vtable_size < kVtableHeader || vtable_size % sizeof(uint16_t) != 0) {
      return fail("bad vtable length", at);
    }
    if (!fits(at, vtable_size, sizeof(uint16_t))) return false;
    const size_t slots = (vtable_size - kVtableHeader) / sizeof(uint16_t);
    return fields({pos, base_ + at + kVtableHeader, slots}, types_[type]);
  }

  struct Layout {
    size_t pos;
    const uint8_t* vtable;
    size_t slots;
    size_t offset(size_t slot) const {
      return slot < slots ? load<uint16_t>(vtable + sizeof(uint16_t) * slot) : 0;
    }
  };

  bool fields(const Layout& layout, const TableType& type) {
    for (size_t slot = 0; slot < type.count; ++slot) {
      const Field& field = type.fields[slot];
      if (field.kind == Kind::kUnion) {
        if (!union_value(layout, slot, field)) return false;
      } else if (field.kind != Kind::kUnread && layout.offset(slot) != 0) {
        if (!value(layout, slot, field)) return false;
      }
    }
    return true;
  }

  /// `size` bytes of a present field lie within the data. The vtable's own idea of the table's
  /// size is not looked at: the Python writer shares vtables between tables of different size.
  bool inside(const Layout& layout, size_t slot, size_t size, size_t* pos) {
    *pos = layout.pos + layout.offset(slot);
    return fits(*pos, size, size);
  }

  bool value(const Layout& layout, size_t slot, const Field& field) {
    size_t pos;
    size_t length;
    if (field.kind == Kind::kScalar) return inside(layout, slot, field.arg, &pos);
    if (!inside(layout, slot, kOffsetSize, &pos) || !follow(pos, &pos)) return false;
    switch (field.kind) {
      case Kind::kString:
        return string(pos);
      case Kind::kVector:
        return vector(pos, field.arg, field.arg, &length);
      case Kind::kStrings:
        return offsets(pos, -1);
      case Kind::kTables:
        return offsets(pos, field.arg);
      default:
        return table(pos, field.arg);
    }
  }

  bool union_value(const Layout& layout, size_t slot, const Field& field) {
    uint8_t member = 0;
    size_t pos;
    if (layout.offset(slot) != 0) {
      if (!inside(layout, slot, sizeof(member), &pos)) return false;
      member = base_[pos];
    }
    const bool present = layout.offset(slot + 1) != 0;
    if (member > field.members) return fail("unknown union type", layout.pos);
    if (present != (member != 0)) return fail("union type without value", layout.pos);
    if (!present) return true;
    return value(layout, slot + 1, table_field(field.arg + member - 1));
  }

  static Field table_field(size_t type) { return flat::table(static_cast<uint8_t>(type)); }

  const uint8_t* const base_;
  const size_t size_;
  size_t tables_left_;
  const Span<const TableType> types_;
  Fault fault_;
};

}  // namespace

Fault verify(Span<const uint8_t> data, const char* identifier, Span<const TableType> types) {
  return Verifier(data, types).run(identifier);
}

const uint8_t* Table::field(size_t slot) const {
  if (table_ == nullptr) return nullptr;
  const uint8_t* vtable = table_ - load<int32_t>(table_);
  const size_t entry = kVtableHeader + sizeof(uint16_t) * slot;
  if (entry >= load<uint16_t>(vtable)) return nullptr;
  const size_t offset = load<uint16_t>(vtable + entry);
  return offset == 0 ? nullptr : table_ + offset;
}

const uint8_t* Table::target(size_t slot) const {
  const uint8_t* p = field(slot);
  return p == nullptr ? nullptr : internal::follow(p);
}

}  // namespace flat
