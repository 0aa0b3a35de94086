// Four 32-bit lanes from and to narrower elements, whole or the first few (predicate `p`).
#pragma once

#include "isa.h"

#if KERNELS_MVE

namespace kernels::mve {

inline int32x4_t load(const int8_t* from) { return vldrbq_s32(from); }
inline int32x4_t load(const int16_t* from) { return vldrhq_s32(from); }
inline int32x4_t load(const int8_t* from, mve_pred16_t p) { return vldrbq_z_s32(from, p); }
inline int32x4_t load(const int16_t* from, mve_pred16_t p) { return vldrhq_z_s32(from, p); }

inline void store(int8_t* to, int32x4_t v) { vstrbq_s32(to, v); }
inline void store(int16_t* to, int32x4_t v) { vstrhq_s32(to, v); }
inline void store(int8_t* to, int32x4_t v, mve_pred16_t p) { vstrbq_p_s32(to, v, p); }
inline void store(int16_t* to, int32x4_t v, mve_pred16_t p) { vstrhq_p_s32(to, v, p); }

}  // namespace kernels::mve

#endif
