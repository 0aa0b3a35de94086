#include "delegates.h"

#if DELEGATE_ETHOS_U
#include "ethosu/backend.h"
#endif

executorch::runtime::Error register_delegates() {
#if DELEGATE_ETHOS_U
  return ethosu::register_backend();
#else
  return executorch::runtime::Error::Ok;
#endif
}
