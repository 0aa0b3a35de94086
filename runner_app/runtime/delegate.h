// A loaded part of a method that a backend executes.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/program.h>

#include "flat_reader.h"

namespace executorch::runtime {

class BackendDelegate final {
 public:
  /// Keeps `data`, what the program holds for the backend, for as long as the backend may use it.
  BackendDelegate(const BackendInterface* backend, FreeableBuffer&& data)
      : backend_(backend), data_(std::move(data)) {}
  ~BackendDelegate() {
    if (loaded_) backend_->destroy(handle_);
  }
  BackendDelegate(const BackendDelegate&) = delete;
  BackendDelegate& operator=(const BackendDelegate&) = delete;

  /// Finds the backend, constructs in place and lets the backend initialize. `*constructed` tells
  /// whether there is something to destroy, which is also so if the backend fails.
  static Error load(flat::Table serialized, const Program* program, BackendInitContext& context,
                    BackendDelegate* place, bool* constructed);

  Error execute(BackendExecutionContext& context, Span<EValue*> args) const {
    return backend_->execute(context, handle_, args);
  }

 private:
  Error init(BackendInitContext& context, flat::Table serialized);
  static Result<FreeableBuffer> processed(flat::Table serialized, const char* id,
                                          const Program* program);

  const BackendInterface* backend_;
  FreeableBuffer data_;
  DelegateHandle* handle_ = nullptr;
  bool loaded_ = false;
};

}  // namespace executorch::runtime
