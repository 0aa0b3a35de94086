#include <executorch/runtime/backend/interface.h>

// Backends that can be registered.
#ifndef RUNTIME_MAX_BACKENDS
#define RUNTIME_MAX_BACKENDS 4
#endif

namespace executorch::runtime {
namespace {

Backend registered[RUNTIME_MAX_BACKENDS];
size_t n_registered = 0;

}  // namespace

BackendInterface::~BackendInterface() = default;

BackendInterface* get_backend_class(const char* name) {
  for (size_t i = 0; i < n_registered; ++i) {
    if (std::strcmp(registered[i].name, name) == 0) return registered[i].backend;
  }
  return nullptr;
}

Error register_backend(const Backend& backend) {
  ET_CHECK_OR_RETURN_ERROR(backend.name != nullptr && backend.backend != nullptr, InvalidArgument,
                           "Backend without name or implementation.");
  ET_CHECK_OR_RETURN_ERROR(get_backend_class(backend.name) == nullptr, InvalidArgument,
                           "Backend %s is already registered.", backend.name);
  ET_CHECK_OR_RETURN_ERROR(n_registered < RUNTIME_MAX_BACKENDS, Internal,
                           "Backend %s does not fit in a registry of %d.", backend.name,
                           RUNTIME_MAX_BACKENDS);
  registered[n_registered++] = backend;
  return Error::Ok;
}

size_t get_num_registered_backends() { return n_registered; }

Result<const char*> get_backend_name(size_t index) {
  if (index >= n_registered) return Error::InvalidArgument;
  return registered[index].name;
}

Error set_option(const char* backend_name, const Span<BackendOption> backend_options) {
  BackendInterface* backend = get_backend_class(backend_name);
  if (backend == nullptr) return Error::NotFound;
  BackendOptionContext context;
  return backend->set_option(context, backend_options);
}

Error get_option(const char* backend_name, Span<BackendOption> backend_options) {
  BackendInterface* backend = get_backend_class(backend_name);
  if (backend == nullptr) return Error::NotFound;
  BackendOptionContext context;
  return backend->get_option(context, backend_options);
}

}  // namespace executorch::runtime
