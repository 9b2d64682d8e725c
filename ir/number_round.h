/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* number_round.h: C's doubles -> bits of the small float types, by integer arithmetic on the
 * significand: it does not depend on the host's rounding mode. C11 and C++17, and it includes
 * nothing: what `tilec --emit=launcher` writes has this text, too. */

typedef struct Format {
    int exponent, fraction; /* bits */
    int bias;
    bool saturates;
    uint32_t max; /* bits of the largest number */
    uint32_t inf; /* bits of infinity; fp8e4nv has none: what cvt makes of it, which is max */
    uint32_t nan;
} Format;

#define FORMAT_F16                                                                                 \
    { 5, 10, 15, false, 0x7bff, 0x7c00, 0x7fff }
#define FORMAT_BF16                                                                                \
    { 8, 7, 127, false, 0x7f7f, 0x7f80, 0x7fff }
#define FORMAT_F8E4M3                                                                              \
    { 4, 3, 7, true, 0x7e, 0x7e, 0x7f }
#define FORMAT_F8E5M2                                                                              \
    { 5, 2, 15, true, 0x7b, 0x7b, 0x7f }

static uint64_t bits_of_double(double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

/* Rounds the number significand * 2^(exponent - digits), where significand < 2^(digits + 1), and
 * for a normal number at least 2^digits. The sign is the caller's. */
static inline uint32_t round_magnitude(const Format *f, uint64_t significand, int digits,
                                       int exponent, Rounding r) {
    int least = 1 - f->bias; /* exponent of the smallest normal number */
    int drop = digits - f->fraction + (exponent < least ? least - exponent : 0);
    if (drop > digits + 2) drop = digits + 2; /* less than half of the smallest number: to zero */
    uint64_t kept = significand >> drop, rest = significand & (((uint64_t)1 << drop) - 1);
    uint64_t half = (uint64_t)1 << (drop - 1);
    if (r == ROUND_NEAREST && (rest > half || (rest == half && (kept & 1)))) kept++;
    if (exponent > f->bias + 2) exponent = f->bias + 2; /* overflows already; keep the sum small */
    if (exponent > least) kept += (uint64_t)(exponent - least) << f->fraction;
    if (kept <= f->max) return (uint32_t)kept;
    return f->saturates || r == ROUND_ZERO ? f->max : f->inf;
}

static inline uint32_t round_double(const Format *f, double v, Rounding r) {
    uint64_t u = bits_of_double(v);
    uint64_t fraction = u & (((uint64_t)1 << 52) - 1);
    uint32_t sign = (uint32_t)(u >> 63) << (f->exponent + f->fraction);
    int exponent = (int)(u >> 52 & 0x7ff);
    if (exponent == 0x7ff) return fraction ? f->nan : sign | f->inf;
    if (exponent == 0) return sign; /* zero, and numbers far below every format's smallest */
    return sign | round_magnitude(f, fraction | (uint64_t)1 << 52, 52, exponent - 1023, r);
}
