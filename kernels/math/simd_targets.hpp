// The instruction sets that SIMD kernels are compiled for: plain scalar, SSE4, AVX2 and AVX-512 (on
// Arm, NEON). Include before foreach_target.h. Vectors without a fixed size (SVE, RVV) are left
// out: they cannot be members or use operators.
#pragma once

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
