/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* transformer.cc: one block of a transformer out of kernels that were compiled ahead of time, in
 * C++17.
 *
 *   transformer [--device=auto|cpu|cuda] [TOKENS HIDDEN HEADS FFN]
 *
 *   h = rms_norm(x);  q, k, v = h Wq, h Wk, h Wv;  q, k turned by rotary;  x += attention(q, k, v)
 * Wo h = rms_norm(x);  x += swiglu(h Wgate, h Wup) Wdown
 *
 * The kernels are those of this folder. `tilec --emit=header` made a header of each file when this
 * was built (tile_add_kernels in CMakeLists.txt): PTX and tile IR are inside the program, which
 * needs nothing but libtile_runtime. The result is held against plain C++ that rounds where the
 * kernels store. */
#include "flash_attention.h"
#include "matmul.h"
#include "rms_norm.h"
#include "rotary.h"
#include "swiglu.h"
#include "vector_add.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Sizes {
    int tokens = 40, hidden = 128, heads = 2, ffn = 192;
};
constexpr int head_size = 64; /* what flash_attention.h was compiled for */
constexpr float eps = 1e-5f;

/* ---- half precision ---- */

using Half = uint16_t;

float to_float(Half h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    float v = exponent == 0 ? std::ldexp(float(fraction), -24)
                            : std::ldexp(float(1024 + fraction), exponent - 25);
    return h & 0x8000 ? -v : v;
}

/* To the nearest, ties to even. Nothing here is infinite or NaN. */
Half to_half(float v) {
    unsigned sign = std::signbit(v) ? 0x8000 : 0;
    double a = std::fabs(double(v));
    int exponent = a == 0 ? -14 : std::max(std::ilogb(a), -14);
    long steps = std::lrint(std::ldexp(a, 10 - exponent)); /* of 2^-10 of the leading bit */
    return Half(sign | unsigned(steps + (long(exponent + 14) << 10)));
}

float rounded(float v) {
    return to_float(to_half(v));
}

/* ---- the same in plain C++ ---- */

using Vector = std::vector<float>; /* values that fp16 holds exactly */

Vector product(const Vector &a, const Vector &b, int m, int n, int k) {
    Vector c(size_t(m) * size_t(n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++) sum += double(a[size_t(i * k + p)]) * b[size_t(p * n + j)];
            c[size_t(i * n + j)] = rounded(float(sum));
        }
    return c;
}

Vector normed(const Vector &x, const Vector &weight, int rows, int cols) {
    Vector y(x.size());
    for (int r = 0; r < rows; r++) {
        double squares = 0;
        for (int c = 0; c < cols; c++) squares += std::pow(double(x[size_t(r * cols + c)]), 2);
        double scale = 1 / std::sqrt(squares / cols + eps);
        for (int c = 0; c < cols; c++)
            y[size_t(r * cols + c)] =
                rounded(float(x[size_t(r * cols + c)] * scale * weight[size_t(c)]));
    }
    return y;
}

void turn(Vector &x, const Vector &cos, const Vector &sin, const Sizes &s) {
    constexpr int half = head_size / 2;
    for (int t = 0; t < s.tokens; t++)
        for (int h = 0; h < s.heads; h++)
            for (int i = 0; i < half; i++) {
                float &a = x[size_t(t * s.hidden + h * head_size + i)], &b = (&a)[half];
                float c = cos[size_t(t * half + i)], d = sin[size_t(t * half + i)], old = a;
                a = rounded(old * c - b * d);
                b = rounded(b * c + old * d);
            }
}

/* Each token sees itself and those before it. */
Vector attention(const Vector &q, const Vector &k, const Vector &v, const Sizes &s) {
    Vector out(q.size());
    std::vector<double> weight(size_t(s.tokens));
    for (int h = 0; h < s.heads; h++)
        for (int i = 0; i < s.tokens; i++) {
            size_t row = size_t(i * s.hidden + h * head_size);
            double total = 0;
            for (int j = 0; j <= i; j++) {
                double score = 0;
                for (int d = 0; d < head_size; d++)
                    score +=
                        double(q[row + size_t(d)]) * k[size_t(j * s.hidden + h * head_size + d)];
                total += weight[size_t(j)] = std::exp(score / std::sqrt(double(head_size)));
            }
            for (int d = 0; d < head_size; d++) {
                double sum = 0;
                for (int j = 0; j <= i; j++)
                    sum += weight[size_t(j)] * v[size_t(j * s.hidden + h * head_size + d)];
                out[row + size_t(d)] = rounded(float(sum / total));
            }
        }
    return out;
}

/* ---- the block ---- */

struct Weights {
    Vector norm1, norm2, q, k, v, o, gate, up, down, cos, sin;
};

Vector expected(Vector x, const Weights &w, const Sizes &s) {
    int t = s.tokens, n = s.hidden, f = s.ffn;
    Vector h = normed(x, w.norm1, t, n);
    Vector q = product(h, w.q, t, n, n), k = product(h, w.k, t, n, n), v = product(h, w.v, t, n, n);
    turn(q, w.cos, w.sin, s);
    turn(k, w.cos, w.sin, s);
    Vector o = product(attention(q, k, v, s), w.o, t, n, n);
    for (size_t i = 0; i < x.size(); i++) x[i] = rounded(x[i] + o[i]);
    h = normed(x, w.norm2, t, n);
    Vector gate = product(h, w.gate, t, f, n), up = product(h, w.up, t, f, n);
    for (size_t i = 0; i < gate.size(); i++)
        gate[i] = rounded(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
    Vector down = product(gate, w.down, t, n, f);
    for (size_t i = 0; i < x.size(); i++) x[i] = rounded(x[i] + down[i]);
    return x;
}

/* What cannot go on is an exception; the context frees what is left. */
class Device {
  public:
    explicit Device(const char *name) {
        check(tile_context_create(name, &ctx));
        check(flash_attention_load(ctx, &attention));
        check(matmul_load(ctx, &matmul));
        check(rms_norm_load(ctx, &norm));
        check(rotary_load(ctx, &rotary));
        check(swiglu_load(ctx, &swiglu));
        check(vector_add_load(ctx, &add));
    }
    ~Device() {
        for (tile_bundle *b : {attention, matmul, norm, rotary, swiglu, add})
            tile_bundle_destroy(b);
        tile_context_destroy(ctx);
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    void check(tile_status st) const {
        if (st)
            throw std::runtime_error(std::string(tile_status_text(st)) + ": " +
                                     (ctx ? tile_error(ctx) : ""));
    }
    tile_ptr empty(size_t bytes) const {
        tile_ptr p = 0;
        check(tile_alloc(ctx, bytes, &p));
        return p;
    }
    template <class T> tile_ptr copy(const std::vector<T> &from) const {
        tile_ptr p = empty(from.size() * sizeof(T));
        check(tile_copy_to_device(ctx, p, from.data(), from.size() * sizeof(T)));
        return p;
    }
    tile_ptr halves(const Vector &from) const {
        std::vector<Half> h(from.size());
        std::transform(from.begin(), from.end(), h.begin(), to_half);
        return copy(h);
    }

    tile_context *ctx = nullptr;
    tile_bundle *attention = nullptr, *matmul = nullptr, *norm = nullptr, *rotary = nullptr,
                *swiglu = nullptr, *add = nullptr;
};

/* Weights and buffers on a device, and the launches of one block. */
class Block {
  public:
    Block(const Device &device, const Weights &w, const Sizes &sizes) : d(device), s(sizes) {
        norm1 = d.halves(w.norm1), norm2 = d.halves(w.norm2);
        wq = d.halves(w.q), wk = d.halves(w.k), wv = d.halves(w.v), wo = d.halves(w.o);
        wgate = d.halves(w.gate), wup = d.halves(w.up), wdown = d.halves(w.down);
        cos = d.copy(w.cos), sin = d.copy(w.sin);
        size_t row = size_t(s.tokens) * sizeof(Half), model = row * size_t(s.hidden);
        for (tile_ptr *p : {&h, &q, &k, &v, &mixed, &sum}) *p = d.empty(model);
        for (tile_ptr *p : {&gate, &up, &act}) *p = d.empty(row * size_t(s.ffn));
        lse = d.empty(size_t(s.heads) * size_t(s.tokens) * sizeof(float));
    }

    /* x becomes the block's result. */
    void run(tile_ptr x) const {
        int t = s.tokens, n = s.hidden, f = s.ffn, half = head_size / 2;
        float scale = 1 / std::sqrt(float(head_size));
        normalise(x, norm1);
        multiply(h, wq, q, n, n);
        multiply(h, wk, k, n, n);
        multiply(h, wv, v, n, n);
        for (tile_ptr p : {q, k})
            d.check(rotary_launch(d.rotary, p, cos, sin, p, t, s.heads, half, nullptr));
        d.check(flash_attention_launch(d.attention, q, k, v, mixed, lse, s.heads, t, t, scale,
                                       head_size, n, head_size, n, head_size, n, head_size, n,
                                       nullptr));
        multiply(mixed, wo, sum, n, n);
        d.check(vector_add_launch(d.add, x, sum, x, t * n, nullptr));
        normalise(x, norm2);
        multiply(h, wgate, gate, f, n);
        multiply(h, wup, up, f, n);
        d.check(swiglu_launch(d.swiglu, gate, up, act, t * f, nullptr));
        multiply(act, wdown, sum, n, f);
        d.check(vector_add_launch(d.add, x, sum, x, t * n, nullptr));
    }

  private:
    void normalise(tile_ptr x, tile_ptr weight) const {
        d.check(rms_norm_launch(d.norm, x, h, weight, s.tokens, s.hidden, s.hidden, eps, nullptr));
    }
    void multiply(tile_ptr a, tile_ptr b, tile_ptr c, int cols, int inner) const {
        d.check(matmul_launch(d.matmul, a, b, c, s.tokens, cols, inner, inner, 1, cols, 1, cols, 1,
                              nullptr));
    }

    const Device &d;
    Sizes s;
    tile_ptr norm1, norm2, wq, wk, wv, wo, wgate, wup, wdown, cos, sin;
    tile_ptr h, q, k, v, mixed, sum, gate, up, act, lse;
};

/* ---- input ---- */

Vector random_vector(size_t n, double size, uint64_t &state) {
    Vector v(n);
    for (float &f : v) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        f = rounded(float((double(state >> 33) / double(1u << 30) - 1) * size));
    }
    return v;
}

Weights random_weights(const Sizes &s, uint64_t &state) {
    size_t n = size_t(s.hidden), f = size_t(s.ffn);
    double in = std::sqrt(3.0 / s.hidden), inner = std::sqrt(3.0 / s.ffn); /* variance 1 stays 1 */
    Weights w;
    for (Vector *v : {&w.norm1, &w.norm2}) *v = random_vector(n, 1, state);
    for (Vector *v : {&w.q, &w.k, &w.v, &w.o}) *v = random_vector(n * n, in, state);
    for (Vector *v : {&w.gate, &w.up}) *v = random_vector(n * f, in, state);
    w.down = random_vector(f * n, inner, state);
    for (int t = 0; t < s.tokens; t++)
        for (int i = 0; i < head_size / 2; i++) {
            double angle = t * std::pow(10000.0, -2.0 * i / head_size);
            w.cos.push_back(float(std::cos(angle)));
            w.sin.push_back(float(std::sin(angle)));
        }
    return w;
}

int run(const char *device_name, const Sizes &s) {
    uint64_t state = 1;
    Weights w = random_weights(s, state);
    Vector x = random_vector(size_t(s.tokens) * size_t(s.hidden), 1.7, state);
    Device device(device_name);
    Block block(device, w, s);
    tile_ptr dx = device.halves(x);
    block.run(dx);
    std::vector<Half> got(x.size());
    device.check(tile_copy_to_host(device.ctx, got.data(), dx, got.size() * sizeof(Half)));

    Vector want = expected(x, w, s);
    double worst = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); i++) {
        double error = std::fabs(to_float(got[i]) - want[i]);
        worst = std::max(worst, error);
        if (!(error <= 0.01 + 0.01 * std::fabs(want[i]))) wrong++;
    }
    std::printf("transformer: %d tokens of %d on %s: %zu of %zu values wrong, largest error %.2g\n",
                s.tokens, s.hidden, tile_context_device_name(device.ctx), wrong, want.size(),
                worst);
    return wrong ? 5 : 0;
}

} // namespace

int main(int argc, char **argv) {
    const char *device = "auto";
    if (argc > 1 && std::strncmp(argv[1], "--device=", 9) == 0) {
        device = argv[1] + 9;
        argv++;
        argc--;
    }
    Sizes s;
    if (argc == 5)
        s = {std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
    bool good = s.tokens > 0 && s.tokens <= 4096 && s.heads > 0 && s.heads <= 16 &&
                s.hidden == s.heads * head_size && s.ffn > 0 && s.ffn % 16 == 0 && s.ffn <= 16384;
    if (!good || (argc != 1 && argc != 5)) {
        std::fprintf(stderr,
                     "usage: transformer [--device=auto|cpu|cuda] [TOKENS HIDDEN HEADS FFN]\n"
                     "HIDDEN is 64 * HEADS, at most 1024; FFN a multiple of 16\n");
        return 2;
    }
    try {
        return run(device, s);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "transformer: %s\n", e.what());
        return 5;
    }
}
