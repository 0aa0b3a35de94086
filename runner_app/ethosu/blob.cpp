#include "ethosu/blob.h"

#include <executorch/runtime/platform/log.h>

#include <cinttypes>
#include <cstring>
#include <string_view>

using executorch::runtime::Error;
using executorch::runtime::Result;

namespace ethosu {

namespace {

constexpr size_t kNameSize = 16;
constexpr size_t kHeaderSize = 32;  // name, size, external flag, reserved
constexpr size_t kKeySize = 64;     // a SHA-256 in hexadecimal

constexpr size_t kDimensions = 6;
constexpr size_t kEntrySize =
    (kDimensions + 3) * sizeof(int32_t);  // shape, element size, offset, region
constexpr int32_t kScratchRegion = 1;

uint32_t word(const uint8_t* bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof(value));
  return value;
}

int32_t signed_word(const uint8_t* bytes) { return static_cast<int32_t>(word(bytes)); }

// An entry of a list of placements; its sizes may still be nonsense.
struct Entry {
  explicit Entry(const uint8_t* bytes) : bytes_(bytes) {}
  int32_t dimension(size_t i) const { return signed_word(bytes_ + 4 * i); }
  int32_t element_size() const { return signed_word(bytes_ + 4 * kDimensions); }
  int32_t offset() const { return signed_word(bytes_ + 4 * (kDimensions + 1)); }
  int32_t region() const { return signed_word(bytes_ + 4 * (kDimensions + 2)); }

  // Size of the tensor; more than `limit` if it is larger than that or negative.
  uint64_t bytes(uint64_t limit) const {
    if (element_size() <= 0) return limit + 1;
    uint64_t size = static_cast<uint64_t>(element_size());
    bool empty = false;
    for (size_t i = 0; i < kDimensions; ++i) {
      if (dimension(i) < 0) return limit + 1;
      if (dimension(i) == 0) {
        empty = true;
      } else {
        if (size > limit) return limit + 1;  // keeps the product within 64 bits
        size *= static_cast<uint64_t>(dimension(i));
      }
    }
    return empty ? 0 : size;
  }

 private:
  const uint8_t* bytes_;
};

Error malformed(const char* what) {
  ET_LOG(Error, "NPU program is malformed: %s", what);
  return Error::InvalidProgram;
}

struct NamedBlock {
  std::string_view name;
  Block content;
};

// Takes the first block off `rest`.
Result<NamedBlock> next_block(Bytes& rest) {
  if (rest.size() < kHeaderSize) return malformed("it is truncated");
  const auto* header = rest.data();
  const void* end = memchr(header, '\0', kNameSize);
  if (end == nullptr) return malformed("a block has no valid name");
  const size_t size = word(header + kNameSize);
  const uint8_t external = header[kNameSize + 4];
  if (size > rest.size() - kHeaderSize) return malformed("a block is truncated");
  const size_t padding = -size % kAlignment;
  if (padding > rest.size() - kHeaderSize - size) return malformed("a block is truncated");
  if (external > 1 || (external == 1 && size != kKeySize)) {
    return malformed("a block refers to data in an unknown way");
  }
  const char* name = reinterpret_cast<const char*>(header);
  const NamedBlock block{{name, static_cast<size_t>(static_cast<const char*>(end) - name)},
                         {Bytes(header + kHeaderSize, size), external == 1}};
  const size_t taken = kHeaderSize + size + padding;
  rest = Bytes(rest.data() + taken, rest.size() - taken);
  return block;
}

// The blocks by purpose; absent ones have no data pointer.
struct Blocks {
  Block actions, weights, scratch_size, inputs, outputs;

  Block* named(std::string_view name) {
    if (name == "cmd_data") return &actions;
    if (name == "weight_data") return &weights;
    if (name == "scratch_size") return &scratch_size;
    if (name == "inputs") return &inputs;
    if (name == "outputs") return &outputs;
    return nullptr;
  }
};

Result<Blocks> collect_blocks(Bytes bytes) {
  const auto first = next_block(bytes);
  if (!first.ok()) return first.error();
  if (first->name != "vela_bin_stream") return malformed("it does not begin with vela_bin_stream");
  Blocks blocks;
  for (;;) {
    const auto block = next_block(bytes);
    if (!block.ok()) return block.error();
    if (block->name == "vela_end_stream") return blocks;
    Block* place = blocks.named(block->name);
    if (place == nullptr) return malformed("it has a block with an unknown name");
    if (place->data.data() != nullptr) return malformed("it has two blocks with one name");
    const bool may_be_named_data = place == &blocks.actions || place == &blocks.weights;
    if (block->content.is_key && !may_be_named_data) {
      return malformed("a block refers to data in an unknown way");
    }
    *place = block->content;
  }
}

}  // namespace

Result<Placements> Placements::parse(Bytes block, size_t scratch_size, const char* what) {
  if (block.size() < sizeof(int32_t)) return malformed("a list of tensors is truncated");
  const uint32_t count = word(block.data());
  if (count > (block.size() - sizeof(int32_t)) / kEntrySize ||
      block.size() != sizeof(int32_t) + count * kEntrySize) {
    return malformed("a list of tensors has another size than it says");
  }
  Placements placements;
  placements.entries_ = block.data() + sizeof(int32_t);
  placements.count_ = count;
  for (size_t i = 0; i < count; ++i) {
    const Entry entry(placements.entries_ + i * kEntrySize);
    const bool inside = entry.region() == kScratchRegion && entry.offset() >= 0 &&
                        static_cast<size_t>(entry.offset()) <= scratch_size &&
                        entry.bytes(scratch_size) <= scratch_size - entry.offset();
    if (!inside) {
      ET_LOG(Error,
             "NPU program is malformed: %s %zu is not within the scratch buffer of %zu bytes", what,
             i, scratch_size);
      return Error::InvalidProgram;
    }
  }
  return placements;
}

Placement Placements::operator[](size_t i) const {
  const Entry entry(entries_ + i * kEntrySize);
  return {static_cast<size_t>(entry.offset()), static_cast<size_t>(entry.bytes(UINT32_MAX)),
          static_cast<size_t>(entry.element_size())};
}

Result<Blob> parse_blob(Bytes bytes) {
  auto blocks = collect_blocks(bytes);
  if (!blocks.ok()) return blocks.error();
  for (const char* name : {"cmd_data", "weight_data", "scratch_size", "inputs", "outputs"}) {
    if (blocks->named(name)->data.data() != nullptr) continue;
    ET_LOG(Error, "NPU program is malformed: it has no block %s", name);
    return Error::InvalidProgram;
  }
  if (blocks->scratch_size.data.size() != sizeof(uint32_t)) {
    return malformed("the size of the scratch buffer is no number of 32 bits");
  }
  Blob blob;
  blob.driver_actions = blocks->actions;
  blob.weights = blocks->weights;
  blob.scratch_size = word(blocks->scratch_size.data.data());
  const auto inputs = Placements::parse(blocks->inputs.data, blob.scratch_size, "input");
  if (!inputs.ok()) return inputs.error();
  const auto outputs = Placements::parse(blocks->outputs.data, blob.scratch_size, "output");
  if (!outputs.ok()) return outputs.error();
  blob.inputs = *inputs;
  blob.outputs = *outputs;
  return blob;
}

Result<CommandStream> parse_driver_actions(Bytes actions) {
  enum Action : uint8_t { kConfig = 1, kCommandStream = 2, kNothing = 5 };
  constexpr size_t kWord = sizeof(uint32_t);
  constexpr uint32_t kMagic = 'C' | 'O' << 8 | 'P' << 16 | '1' << 24;
  if (actions.size() < kWord || actions.size() % kWord != 0 || word(actions.data()) != kMagic) {
    return malformed("its driver actions do not begin with COP1");
  }
  CommandStream stream;
  bool configured = false;
  for (size_t at = kWord; at < actions.size();) {
    const uint32_t tag = word(actions.data() + at);
    at += kWord;
    const size_t left = actions.size() - at;
    switch (tag & 0xFF) {
      case kNothing:
        break;
      case kConfig:
        if (left < 2 * kWord) return malformed("its configuration is truncated");
        stream.compiled_for = {word(actions.data() + at), word(actions.data() + at + kWord)};
        configured = true;
        at += 2 * kWord;
        break;
      case kCommandStream: {
        const size_t words = (tag >> 16) | (tag >> 8 & 0xFF) << 16;
        if (words == 0 || words > left / kWord) return malformed("its command stream is truncated");
        if (stream.commands.size() != 0) return malformed("it has two command streams");
        stream.commands = Bytes(actions.data() + at, words * kWord);
        at += words * kWord;
        break;
      }
      default:
        ET_LOG(Error, "NPU program is malformed: unknown driver action %" PRIu32, tag & 0xFF);
        return Error::InvalidProgram;
    }
  }
  if (!configured) return malformed("it does not say which NPU it is compiled for");
  if (stream.commands.size() == 0) return malformed("it has no command stream");
  return stream;
}

}  // namespace ethosu
