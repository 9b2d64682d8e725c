/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* share_model.h: how programs share out the iterations of the places that are too many for whole
 * rounds: the model that share.c speaks of. C11 and C++17, and it includes nothing: what `tilec
 * --emit=launcher` writes has this text, too. Whoever includes it has the enum of clocks. */

enum {
    MOST_HELPERS = 16,  /* of a place */
    MOST_TOGETHER = 4,  /* places of a helper */
    WORTH_CLOCKS = 2000 /* H200: 0.5 to 1.5 us less than the model says is gained by an item more */
};

typedef struct Problem {
    const int64_t *clocks; /* by ITERATION_CLOCKS and so on */
    int64_t multiprocessors;
    int64_t cut, spare, rounds; /* places; programs without one; whole rounds besides */
    int64_t iterations;
} Problem;

typedef struct Way {
    int64_t first, share; /* 0: nothing is cut off */
    int64_t helpers;
    double time; /* behind the whole rounds */
} Way;

/* Of an iteration, where so many programs are at work. */
static double iteration_of(const Problem *p, int64_t programs) {
    int64_t together = (programs + p->multiprocessors - 1) / p->multiprocessors;
    double shared = (double)(together * p->clocks[ITERATION_CLOCKS]);
    double least = (double)p->clocks[LEAST_CLOCKS];
    return shared < least ? least : shared;
}

/* Each place is cut for so many helpers, or each helper has parts of so many places. */
static Way way_of(const Problem *p, int64_t helpers_each, int64_t places_each, int64_t cut_off) {
    double part = (double)p->clocks[PART_CLOCKS], meet = (double)p->clocks[MEET_CLOCKS];
    Way w;
    w.first = p->iterations - cut_off;
    w.share = cut_off * places_each / helpers_each;
    w.helpers = (p->cut * helpers_each + places_each - 1) / places_each;
    double each = iteration_of(p, p->cut + w.helpers);
    double written = (double)w.share * each + part * (double)places_each;
    double own = (double)w.first * each + part * (double)helpers_each;
    /* With rounds between the two the parts are there long before they are wanted. */
    double met = p->rounds ? own : written + meet + part * (double)helpers_each;
    w.time = own > met ? own : met;
    if (w.time < written) w.time = written;
    return w;
}

/* The best of these: what is cut off makes helpers later and the others sooner. */
static void try_ways(const Problem *p, int64_t helpers_each, int64_t places_each, Way *best) {
    int64_t low = 1, high = p->iterations / helpers_each;
    if ((p->cut * helpers_each + places_each - 1) / places_each > p->spare || high < low) return;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (way_of(p, helpers_each, places_each, mid * helpers_each).time <=
            way_of(p, helpers_each, places_each, (mid + 1) * helpers_each).time)
            high = mid;
        else
            low = mid + 1;
    }
    Way w = way_of(p, helpers_each, places_each, low * helpers_each);
    if (w.time < best->time) *best = w;
}

static Way best_way(const Problem *p) {
    Way best = {0, 0, 0, (double)p->iterations * iteration_of(p, p->cut) - WORTH_CLOCKS};
    for (int64_t k = 1; k <= MOST_HELPERS && k <= p->spare / p->cut; k++) try_ways(p, k, 1, &best);
    for (int64_t k = 2; k <= MOST_TOGETHER; k++) try_ways(p, 1, k, &best);
    return best;
}

/* What a launch of `all` places is told: so many programs, and which places are cut where. Of
 * programs in clusters each cluster is one here, and what these take together is one place. False:
 * programs take whole places. */
typedef struct Shares {
    int64_t programs, places, first, share;
} Shares;
static bool share_places(const int64_t *clocks, int64_t multiprocessors, int64_t at_once,
                         int64_t all, int64_t iterations, int64_t cluster, Shares *out) {
    Problem p;
    at_once /= cluster;
    all = (all + cluster - 1) / cluster;
    p.clocks = clocks;
    p.multiprocessors = (multiprocessors + cluster - 1) / cluster;
    p.cut = all % at_once;
    p.spare = at_once - p.cut;
    p.rounds = all / at_once;
    p.iterations = iterations;
    if (!p.cut || iterations < 2 || iterations > INT32_MAX / MOST_TOGETHER / at_once) return false;
    Way way = best_way(&p);
    if (!way.share) return false;
    out->programs = (p.rounds ? at_once : p.cut + way.helpers) * cluster;
    out->places = p.cut;
    out->first = way.first;
    out->share = way.share;
    return true;
}
