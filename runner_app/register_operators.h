// Defined by the generated registration.cpp: makes exactly the operators of this image known.
#pragma once

#include <executorch/runtime/core/error.h>

executorch::runtime::Error register_operators();
