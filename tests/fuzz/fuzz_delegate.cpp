// What a program holds for the NPU: the blocks, and the actions for the driver in one of them.
#include "ethosu/blob.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Input input(data, size);
  static volatile size_t sink;
  const auto read = [](ethosu::Bytes bytes) {
    for (const uint8_t byte : bytes) sink = sink + byte;
  };
  const auto actions = [&](ethosu::Bytes bytes) {
    const auto stream = ethosu::parse_driver_actions(bytes);
    if (stream.ok()) read(stream->commands);
  };
  const auto blob = ethosu::parse_blob(input.bytes());
  if (blob.ok()) {
    read(blob->weights.data);
    read(blob->driver_actions.data);
    for (const ethosu::Placements& list : {blob->inputs, blob->outputs}) {
      for (size_t i = 0; i < list.size(); i++) sink = sink + list[i].offset;
    }
    actions(blob->driver_actions.data);
  } else {
    actions(input.bytes());
  }
  return 0;
}
