#include "arguments.h"

#include <executorch/runtime/platform/log.h>

#include <cstring>

namespace {

constexpr char kUsage[] = "Usage: executor_runner -m FILE -o BASE [-i FILE]...";

bool set_once(const char** value, const char* option, const char* word) {
  if (*value != nullptr) {
    ET_LOG(Error, "Option %s given twice: '%s' and '%s'. %s", option, *value, word, kUsage);
    return false;
  }
  *value = word;
  return true;
}

bool add_input(Arguments* arguments, const char* word) {
  if (arguments->input_count == Arguments::kMaximumInputs) {
    ET_LOG(Error, "More than %zu inputs (-i).", Arguments::kMaximumInputs);
    return false;
  }
  arguments->inputs[arguments->input_count++] = word;
  return true;
}

}  // namespace

bool parse_arguments(const char* const* words, size_t count, Arguments* arguments) {
  for (size_t i = 1; i < count; i += 2) {
    const char* option = words[i];
    const bool known =
        strcmp(option, "-m") == 0 || strcmp(option, "-o") == 0 || strcmp(option, "-i") == 0;
    if (!known) {
      ET_LOG(Error, "Unknown option '%s'. %s", option, kUsage);
      return false;
    }
    if (i + 1 == count) {
      ET_LOG(Error, "Option %s needs a value. %s", option, kUsage);
      return false;
    }
    const char* value = words[i + 1];
    const bool taken = option[1] == 'm'   ? set_once(&arguments->model, option, value)
                       : option[1] == 'o' ? set_once(&arguments->output_base, option, value)
                                          : add_input(arguments, value);
    if (!taken) return false;
  }
  if (arguments->model == nullptr || arguments->output_base == nullptr) {
    ET_LOG(Error, "Option %s is missing. %s", arguments->model == nullptr ? "-m" : "-o", kUsage);
    return false;
  }
  return true;
}
