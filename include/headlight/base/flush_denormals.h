// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace headlight {

/// While one lives, this thread's arithmetic takes numbers below the smallest normal one as 0 and makes none. Denormal numbers
/// take a hundred times as long on some processors, and attention to far keys fades through them. Only around calls of functions
/// that are not inlined: a compiler may move arithmetic past the constructor.
class FlushDenormals {
#if defined(__SSE__)
public:
    FlushDenormals() noexcept : before_(_mm_getcsr()) { _mm_setcsr(before_ | _MM_FLUSH_ZERO_ON | kDenormalsAreZero); }
    ~FlushDenormals() { _mm_setcsr(before_); }
    FlushDenormals(const FlushDenormals&) = delete;
    FlushDenormals& operator=(const FlushDenormals&) = delete;

private:
    static constexpr unsigned kDenormalsAreZero = 0x40;  // <pmmintrin.h> has a name for it from SSE3 on
    unsigned before_;
#else  // others compute with them at full speed
public:
    FlushDenormals() noexcept {}
    ~FlushDenormals() {}
#endif
};

}  // namespace headlight
