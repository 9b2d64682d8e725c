#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fit_special.py: where the coefficients of frontend/special.tl come from.

Each row of FITS is a smooth function over an interval, most often a special function divided by what
makes it vanish or grow. It is interpolated at Chebyshev points of [-1, 1] with mpmath; the degree is
the least whose next coefficients are below 2^-57 of the smallest value, and the Chebyshev sum becomes
a polynomial in the scaled variable (or in the variable itself, for what only grows), highest power
first, each coefficient rounded to a double. Prints the tuple and the worst relative error of its Horner evaluation in double arithmetic, in units of 2^-53.

  tests/math/fit_special.py [NAME…]
"""
import sys

from mpmath import mp, mpf
import mpmath as m

mp.dps = 60


def chebyshev(f, n):
    """Coefficients of the interpolant at n points of [-1, 1]."""
    nodes = [m.cos(m.pi * (k + mpf(1) / 2) / n) for k in range(n)]
    values = [f(t) for t in nodes]
    return [2 * sum(v * m.cos(m.pi * j * (k + mpf(1) / 2) / n) for k, v in enumerate(values)) / n
            / (2 if j == 0 else 1) for j in range(n)], min(abs(v) for v in values)


def powers(c):
    """A Chebyshev sum as coefficients of powers, lowest first."""
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    total = [mpf(0)] * len(c)
    for j, x in enumerate(c):
        t = before if j == 0 else now
        for i, v in enumerate(t):
            total[i] += x * v
        if j:
            after = [mpf(0)] + [2 * v for v in now]
            for i, v in enumerate(before):
                after[i] -= v
            before, now = now, after
    return total


def moved(c, a, b):
    """A polynomial in a t + b as one in t."""
    total = []
    for x in reversed(c):
        total = [(total[i - 1] if i else 0) * a + (total[i] if i < len(total) else 0) * b
                 for i in range(len(total) + 1)] if total else [mpf(0)]
        total[0] += x
    return total


def fit(f, up_to=None, points=44):
    c, least = chebyshev(f, points)
    n = points
    while n > 2 and abs(c[n - 1]) < least * mpf(2) ** -57:
        n -= 1
    c = powers(c[:n])
    if up_to:
        c = moved(c, mpf(2) / up_to, mpf(-1))
    coefficients = [float(v) for v in reversed(c)]
    worst = 0
    for i in range(401):
        u = float(-m.cos(m.pi * i / 400))
        t = (u + 1) / 2 * up_to if up_to else u
        y = coefficients[0]
        for v in coefficients[1:]:
            y = y * t + v
        exact = f(mpf(t) * 2 / up_to - 1 if up_to else mpf(u))
        worst = max(worst, abs((mpf(y) - exact) / exact))
    return coefficients, worst * 2 ** 53


def over(lo, hi, f):
    """f over [lo, hi] as a function of [-1, 1]."""
    lo, hi = mpf(lo), mpf(hi)
    return lambda u: f((lo + hi) / 2 + (hi - lo) / 2 * u)


def zero(f, near):
    return m.findroot(f, mpf(near))


J0, J1 = lambda x: m.besselj(0, x), lambda x: m.besselj(1, x)
Y0, Y1 = lambda x: m.bessely(0, x), lambda x: m.bessely(1, x)
ZEROS = {
    'J0': [zero(J0, 2.4), zero(J0, 5.5)], 'J1': [zero(J1, 3.8), zero(J1, 7.0)],
    'Y0': [zero(Y0, 0.9), zero(Y0, 3.95), zero(Y0, 7.1)], 'Y1': [zero(Y1, 2.2), zero(Y1, 5.4)],
}


def nudged(x, least):
    """x, or what is a little larger where a formula is 0 / 0."""
    return x if x > mpf(least) else mpf(least)


def even(f):
    """f of the square root, for what is even in x."""
    return lambda t: f(m.sqrt(nudged(t, '1e-40')))


def off(z, f, other=None):
    """f / (x - z), by a derivative where x is z; and over x - other, outside the interval."""
    def g(x):
        y = f(x) / (x - z) if abs(x - z) > mpf('1e-25') else m.diff(f, z)
        return y / (x - other) if other else y
    return g


def asymptotic(order, part):
    """P or Q of J = sqrt(2 / (pi x)) (P cos a - Q sin a), Y = … (P sin a + Q cos a), of w = (8 / x)^2;
    Q is divided by 8 / x."""
    def f(w):
        x = 8 / m.sqrt(nudged(w, '1e-30'))
        with mp.workdps(100):
            a = x - m.pi * (2 * order + 1) / 4
            s = m.sqrt(m.pi * x / 2)
            j, y = m.besselj(order, x), m.bessely(order, x)
            return s * (j * m.cos(a) + y * m.sin(a)) if part == 'P' else \
                s * (y * m.cos(a) - j * m.sin(a)) * x / 8
    return f


def y0_rest(t):
    """What is left of Y0 behind 2 / pi log(x / z) J0(x), over x^2 - z^2."""
    z = ZEROS['Y0'][0]
    g = lambda x: Y0(x) - 2 / m.pi * m.log(x / z) * J0(x)
    x = m.sqrt(nudged(t, '1e-40'))
    return off(z, g)(x) / (x + z)


def y1_rest(t):
    """What is left of Y1 behind 2 / pi (log(x / 2) J1(x) - 1 / x), over x."""
    with mp.workdps(140):
        x = m.sqrt(nudged(t, '1e-40'))
        return (Y1(x) - 2 / m.pi * (m.log(x / 2) * J1(x) - 1 / x)) / x


def stirling(v):
    """gamma(x) / (sqrt(2 pi) x^(x - 1/2) e^-x) of v = 1 / x."""
    x = 1 / nudged(v, '1e-30')
    if x > mpf(10) ** 8:
        return 1 + 1 / (12 * x) + 1 / (288 * x * x)
    return m.exp(m.loggamma(x) - m.log(2 * m.pi) / 2 - (x - mpf(1) / 2) * m.log(x) + x)


def erfcx(x):
    return m.exp(x * x) * m.erfc(x)


def erfcx_scaled(u):
    """(1 + 2 x) e^(x^2) erfc(x) of u = (x - 4) / (x + 4)."""
    if u > 1 - mpf('1e-40'):
        return 2 / m.sqrt(m.pi)
    x = 4 * (1 + u) / (1 - u)
    if x > 200:  # the asymptotic series
        s = sum((-1) ** k * m.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12))
        return (1 + 2 * x) * s / (x * m.sqrt(m.pi))
    with mp.workdps(120):
        return (1 + 2 * x) * erfcx(x)


def bessel_i_far(order):
    """I(x) sqrt(x) e^-x of u = 16 / x - 1."""
    def f(u):
        x = 16 / nudged(u + 1, '1e-40')
        if x > 2000:
            mu, t, s = 4 * mpf(order) ** 2, mpf(1), mpf(1)
            for k in range(1, 16):
                t *= -(mu - (2 * k - 1) ** 2) / (k * 8 * x)
                s += t
            return s / m.sqrt(2 * m.pi)
        return m.besseli(order, x) * m.sqrt(x) * m.exp(-x)
    return f


FITS = {
    'I0_NEAR': (over(0, 64, even(lambda x: m.besseli(0, x))), 64),
    'I0_FAR': bessel_i_far(0),
    'I1_NEAR': (over(0, 64, even(lambda x: m.besseli(1, x) / x)), 64),
    'I1_FAR': bessel_i_far(1),
    'J0_NEAR': over(0, 16, even(lambda x: off(ZEROS['J0'][0], J0)(x) / (x + ZEROS['J0'][0]))),
    'J0_MIDDLE': over(4, 8, off(ZEROS['J0'][1], J0, float(zero(J0, 8.6)))),
    'J1_NEAR': over(0, 16, even(lambda x: off(ZEROS['J1'][0], J1)(x) / (x + ZEROS['J1'][0]) / x)),
    'J1_MIDDLE': over(4, 8, off(ZEROS['J1'][1], J1, float(ZEROS['J1'][0]))),
    'Y0_NEAR': over(0, 4, y0_rest),
    'Y0_MIDDLE': over(2, '4.5', off(ZEROS['Y0'][1], Y0)),
    'Y0_AWAY': over('4.5', 8, off(ZEROS['Y0'][2], Y0, float(ZEROS['Y0'][1]))),
    'Y1_NEAR': over(0, '3.0625', y1_rest),
    'Y1_MIDDLE': over('1.75', 4, off(ZEROS['Y1'][0], Y1)),
    'Y1_AWAY': over(4, 8, off(ZEROS['Y1'][1], Y1, float(zero(Y1, 8.6)))),
    'P0': over(0, 1, asymptotic(0, 'P')),
    'Q0': over(0, 1, asymptotic(0, 'Q')),
    'P1': over(0, 1, asymptotic(1, 'P')),
    'Q1': over(0, 1, asymptotic(1, 'Q')),
    'ERFCX_NEAR': over(0, 1, erfcx),
    'ERFCX_FAR': erfcx_scaled,
    'LGAMMA_1': over('0.75', '1.5', off(mpf(1), m.loggamma)),
    'LGAMMA_2': over('1.5', 3, off(mpf(2), m.loggamma)),
    'GAMMA': over(2, 3, m.gamma),
    'STIRLING': over(0, '0.1', stirling),
}

if __name__ == '__main__':
    wanted = sys.argv[1:]
    if not wanted:
        for name, all_of in ZEROS.items():
            for z in all_of:
                high = float(z)
                print('# zero of %s: %r + %r' % (name, high, float(z - mpf(high))))
    for name, f in FITS.items():
        if wanted and name not in wanted:
            continue
        coefficients, error = fit(*f) if isinstance(f, tuple) else fit(f)
        line = '%s: tl.constexpr = (' % name
        text = ', '.join(repr(c) for c in coefficients)
        while text:  # as the library's text has it: 100 columns
            room = 100 - len(line)
            if len(text) + 1 <= room:
                print(line + text + ')')
                break
            cut = text.rfind(', ', 0, room) + 1
            print(line + text[:cut])
            text, line = text[cut + 1:], '    '
        print('# %d, %.2f' % (len(coefficients), float(error)))
