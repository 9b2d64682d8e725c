#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fit.py: where the coefficients of passes/math_f32.def and passes/math_f64.def come from.

Each row of FITS is a polynomial in t over an interval: the smallest worst error (weighted, so that
it is the relative error of the whole function) by Remez' exchange on a dense grid, with mpmath. The
coefficients are then rounded to the format one by one, lowest power first, the others fitted anew
each time, so that the rounding costs next to nothing. Prints the coefficients and the error as a
power of two; needs `pip install mpmath`.

  tests/math/fit.py [NAME…]
"""
import struct
import sys

from mpmath import mp, mpf, matrix, lu_solve
import mpmath as m

mp.dps = 60


def grid(lo, hi, n):
    return [(lo + hi) / 2 - (hi - lo) / 2 * m.cos(m.pi * i / (n - 1)) for i in range(n)]


def remez(f, w, lo, hi, powers, points=500):
    """Coefficients for t**powers with the least max |w (p - f)|, and that error."""
    n = len(powers)
    ts = grid(lo, hi, points)
    fs, ws = [f(t) for t in ts], [abs(w(t)) + mpf('1e-9') * (hi - lo) for t in ts]
    rows = [[t ** p for p in powers] for t in ts]
    ref = [round(i * (points - 1) / n) for i in range(n + 1)]
    for _ in range(40):
        a, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for r, i in enumerate(ref):
            for c in range(n):
                a[r, c] = rows[i][c]
            a[r, n] = (-1) ** r / ws[i]
            b[r] = fs[i]
        sol = lu_solve(a, b)
        err = [ws[i] * (sum(sol[c] * rows[i][c] for c in range(n)) - fs[i]) for i in range(points)]
        worst = max(range(points), key=lambda i: abs(err[i]))
        if abs(err[worst]) <= abs(sol[n]) * mpf('1.0005'):
            break
        # local extremes with alternating signs, the largest where neighbours agree
        ext = []
        for i in range(points):
            if ext and (err[ext[-1]] > 0) == (err[i] > 0):
                if abs(err[i]) > abs(err[ext[-1]]):
                    ext[-1] = i
            else:
                ext.append(i)
        while len(ext) > n + 1:
            ext.pop(0 if abs(err[ext[0]]) < abs(err[ext[-1]]) else -1)
        if len(ext) < n + 1:  # lost one: what is there is as good as the grid shows
            break
        ref = ext
    return [sol[c] for c in range(n)], max(abs(e) for e in err)


def rounded(x, fmt):
    return mpf(struct.unpack(fmt, struct.pack(fmt, float(x)))[0])


def fit(f, w, lo, hi, n, fmt):
    """The better of: all coefficients rounded at once; and one by one, the others fitted anew."""
    def worst(c):
        return max(abs(w(t) * (sum(x * t ** p for p, x in enumerate(c)) - f(t)))
                   for t in grid(lo, hi, 1001))
    best, _ = remez(f, w, lo, hi, list(range(n)))
    best = [rounded(x, fmt) for x in best]
    done = []
    while fmt == 'f' and len(done) < n:
        g = lambda t: f(t) - sum(c * t ** p for p, c in enumerate(done))
        c, _ = remez(g, w, lo, hi, list(range(len(done), n)))
        done.append(rounded(c[0], fmt))
    if done and worst(done) < worst(best):
        best = done
    return best, worst(best)


def hi(f):
    """f with more digits, for formulas that cancel near 0."""
    def g(t):
        with mp.workdps(150):
            return f(t if t != 0 else mpf(10) ** -40)
    return g


LN2 = m.log(2)
Q = m.pi / 4
R3 = mpf(1) / 3
# name: (function, weight, interval, powers, format 'f' or 'd', fixed coefficients)
FITS = {
    # e^r = 1 + r + r^2 p(r); 2^r likewise
    'exp_f32': (hi(lambda r: (m.expm1(r) - r) / r**2), lambda r: r**2 / m.exp(r), -LN2 / 2 - .001, LN2 / 2 + .001, 5, 'f'),
    'expm1_f32': (hi(lambda r: (m.expm1(r) - r) / r**2), lambda r: r**2 / m.expm1(r) if r else mpf(0), -LN2 / 2 - .001, LN2 / 2 + .001, 6, 'f'),
    'exp2_f32': (lambda r: mpf(2)**r, lambda r: mpf(2)**-r, -mpf('.501'), mpf('.501'), 7, 'f'),
    # log(1 + f) = f + f^2 p(f)
    'log_f32': (hi(lambda f: (m.log1p(f) - f) / f**2), hi(lambda f: f**2 / m.log1p(f)), -R3, R3, 9, 'f'),
    'log2_f32': (hi(lambda f: (m.log1p(f) - f) / f**2 / LN2), hi(lambda f: f**2 * LN2 / m.log1p(f)), -R3, R3, 9, 'f'),
    'log10_f32': (hi(lambda f: (m.log1p(f) - f) / f**2 / m.log(10)), hi(lambda f: f**2 * m.log(10) / m.log1p(f)), -R3, R3, 9, 'f'),
    # log2(1 + f) = f p(f) in fp64, to 2^-38: for the power of fp32
    'log2_pow_f32': (hi(lambda f: m.log1p(f) / f / LN2), hi(lambda f: f * LN2 / m.log1p(f)), -R3, R3, 15, 'd'),
    # sin r = r + r^3 p(r^2), cos r = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4; tan r = r + r^3 p(r^2)
    'sin_f32': (hi(lambda z: (m.sin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.sin(m.sqrt(z))), mpf(0), mpf('.62'), 4, 'f'),
    'cos_f32': (hi(lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2), lambda z: z**2 / m.cos(m.sqrt(z)), mpf(0), mpf('.62'), 3, 'f'),
    'tan_f32': (hi(lambda z: (m.tan(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.tan(m.sqrt(z))), mpf(0), mpf('.62'), 7, 'f'),
    # asin x = x + x^3 p(x^2), x <= .57; atan x = x + x^3 p(x^2), x <= 1
    'asin_f32': (hi(lambda z: (m.asin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.asin(m.sqrt(z))), mpf(0), mpf('.326'), 6, 'f'),
    'atan_f32': (hi(lambda z: (m.atan(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.atan(m.sqrt(z))), mpf(0), mpf(1), 9, 'f'),
    # tanh x = x + x^3 p(x^2), x <= .58, sinh the same, x <= 1
    'tanh_f32': (hi(lambda z: (m.tanh(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.tanh(m.sqrt(z))), mpf(0), mpf('.337'), 4, 'f'),
    'sinh_f32': (hi(lambda z: (m.sinh(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.sinh(m.sqrt(z))), mpf(0), mpf(1), 4, 'f'),
    # erf x = x + x p(x^2), x <= 1; log2 erfc x = p(x), 1 <= x <= 4
    'erf_f32': (hi(lambda z: (m.erf(m.sqrt(z)) / m.sqrt(z) - 1)), hi(lambda z: m.sqrt(z) / m.erf(m.sqrt(z))), mpf(0), mpf(1), 7, 'f'),
    'erf_big_f32': (lambda x: m.log(m.erfc(x)) / LN2, lambda x: m.erfc(x), mpf('.99'), mpf('4.1'), 9, 'f'),
    # erfc x = exp(-x^2) / (1 + 2x) p(t), t = (x - 2) / (x + 2): .5 <= x <= 10.1
    'erfc_f32': (lambda t: (lambda x: m.erfc(x) * m.exp(x * x) * (1 + 2 * x))(2 * (1 + t) / (1 - t)), lambda t: (lambda x: 1 / (m.erfc(x) * m.exp(x * x) * (1 + 2 * x)))(2 * (1 + t) / (1 - t)), mpf('-.6'), mpf('.68'), 11, 'f'),
    # cube root of 1 <= x <= 2, roughly: Newton's steps make it exact
    'cbrt': (lambda x: m.cbrt(x), lambda x: 1 / m.cbrt(x), mpf(1), mpf(2), 5, 'f'),
    # fp64
    'exp_f64': (hi(lambda r: (m.expm1(r) - r) / r**2), lambda r: r**2 / m.exp(r), -LN2 / 2 - .001, LN2 / 2 + .001, 10, 'd'),
    'expm1_f64': (hi(lambda r: (m.expm1(r) - r) / r**2), lambda r: r**2 / m.expm1(r) if r else mpf(0), -LN2 / 2 - .001, LN2 / 2 + .001, 11, 'd'),
    # log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), |s| <= 1/6 + a bit
    'log_f64': (hi(lambda z: (m.log((1 + m.sqrt(z)) / (1 - m.sqrt(z))) - 2 * m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.atanh(m.sqrt(z))), mpf(0), mpf('.0409'), 8, 'd'),
    # the same without its first term: 2 s + 2/3 s^3 + s^5 p(s^2)
    'log_pow': (hi(lambda z: (m.log((1 + m.sqrt(z)) / (1 - m.sqrt(z))) - 2 * m.sqrt(z) - 2 * m.sqrt(z)**3 / 3) / m.sqrt(z)**5), hi(lambda z: m.sqrt(z)**5 / m.atanh(m.sqrt(z))), mpf(0), mpf('.0409'), 8, 'd'),
    'sin_f64': (hi(lambda z: (m.sin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.sin(m.sqrt(z))), mpf(0), mpf('.62'), 6, 'd'),
    'cos_f64': (hi(lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2), lambda z: z**2 / m.cos(m.sqrt(z)), mpf(0), mpf('.62'), 6, 'd'),
    'tanh_f64': (hi(lambda z: (m.tanh(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.tanh(m.sqrt(z))), mpf(0), mpf('.36'), 11, 'd'),
    'atan_f64': (hi(lambda z: (m.atan(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.atan(m.sqrt(z))), mpf(0), mpf(1), 20, 'd'),
    'asin_f64': (hi(lambda z: (m.asin(m.sqrt(z)) - m.sqrt(z)) / m.sqrt(z)**3), hi(lambda z: m.sqrt(z)**3 / m.asin(m.sqrt(z))), mpf(0), mpf('.326'), 15, 'd'),
    'erf_f64': (hi(lambda z: (m.erf(m.sqrt(z)) / m.sqrt(z) - 1)), hi(lambda z: m.sqrt(z) / m.erf(m.sqrt(z))), mpf(0), mpf(1), 14, 'd'),
    'erfc_f64': (lambda t: (lambda x: m.erfc(x) * m.exp(x * x) * (1 + 2 * x))(2 * (1 + t) / (1 - t)), lambda t: (lambda x: 1 / (m.erfc(x) * m.exp(x * x) * (1 + 2 * x)))(2 * (1 + t) / (1 - t)), mpf('-.6'), mpf('.87'), 26, 'd'),
}


def main():
    for name in sys.argv[1:] or FITS:
        f, w, lo, hi_, n, fmt = FITS[name]
        c, worst = fit(f, w, lo, hi_, n, fmt)
        error = float(m.log(worst, 2)) if worst else -999
        text = ', '.join('%.9g' % x if fmt == 'f' else repr(float(x)) for x in map(float, c))
        print(f'{name}: 2^{error:.1f}\n    {text}', flush=True)


if __name__ == '__main__':
    main()
