/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fold_rules.c: the rows of fold.def: text -> trees -> matched against ops.
 *
 * Trees are parsed once for each run of the pass and chained by the op at their root, in the order
 * of the table: the first row that matches is applied. The hard part is commutative operands: both
 * orders are tried, with what the letters stand for put back in between, at every level. */
#include "passes/fold.h"

#include <stdlib.h>
#include <string.h>

typedef enum FoldClass { ANY, INT, SIGNED, UNSIGNED, BOOL, FLOAT } FoldClass;

static const struct FoldRow {
    FoldClass class_;
    const char *pattern, *result;
} fold_rows[] = {
#define FOLD(class_, pattern, result) {class_, pattern, result},
#include "passes/fold.def"
#undef FOLD
};
enum { ROWS = sizeof fold_rows / sizeof fold_rows[0] };

/* ---- trees ---- */

static const char letters[] = "xyzmCD";
enum { LETTERS = sizeof letters - 1, X = 0, FIRST_CONSTANT = 4, MAX_KIDS = 3 };

typedef enum NodeKind { NODE_LETTER, NODE_INT, NODE_FLOAT, NODE_OP } NodeKind;

typedef struct Node {
    NodeKind kind;
    int letter;
    int64_t i;
    double f;
    OpCode code;
    int pred; /* -1: none */
    int nkids;
    struct Node *kid[MAX_KIDS];
} Node;

typedef struct Rule {
    struct Rule *next; /* with the same op at its root */
    FoldClass class_;
    const Node *pattern, *result;
} Rule;

struct FoldRules {
    Rule *first[OPS];
};

static bool find_op(const char *at, size_t n, Node *node) {
    const char *dot = memchr(at, '.', n);
    size_t len = dot ? (size_t)(dot - at) : n;
    node->pred = -1;
    if (dot) {
        const char *const *words = attr_words(AT_PRED);
        for (int i = 0; words[i]; i++)
            if (strlen(words[i]) == n - len - 1 && memcmp(words[i], dot + 1, n - len - 1) == 0)
                node->pred = i;
        if (node->pred < 0) return false;
    }
    for (int i = 0; i < OPS; i++)
        if (strlen(op_info[i].text) == len && memcmp(op_info[i].text, at, len) == 0) {
            node->code = (OpCode)i;
            return true;
        }
    return false;
}

/* Reads one tree: a letter, a number, or an op with its operands, which is in parentheses unless
 * it is the whole (`top`). NULL: malformed. The depth is that of the table's own text. */
static Node *parse_tree(Session *s, const char **text, bool top) {
    Node *node = arena_alloc(&s->arena, sizeof *node);
    const char *at = *text + strspn(*text, " ");
    bool inside = *at == '(';
    if (inside) at++;
    size_t n = strcspn(at, " ()");
    *text = at + n;
    if (n == 0) return NULL;
    const char *letter = n == 1 ? strchr(letters, *at) : NULL;
    if (letter && !inside) {
        node->kind = NODE_LETTER;
        node->letter = (int)(letter - letters);
        return node;
    }
    if (!inside && (*at == '-' || (*at >= '0' && *at <= '9'))) {
        node->kind = memchr(at, '.', n) ? NODE_FLOAT : NODE_INT;
        if (node->kind == NODE_FLOAT)
            node->f = strtod(at, NULL);
        else
            node->i = strtoll(at, NULL, 10);
        return node;
    }
    node->kind = NODE_OP;
    if (!(inside || top) || !find_op(at, n, node)) return NULL;
    while (*(*text += strspn(*text, " ")) && **text != ')') {
        if (node->nkids == MAX_KIDS) return NULL;
        Node *kid = parse_tree(s, text, false);
        if (!kid) return NULL;
        node->kid[node->nkids++] = kid;
    }
    if (inside && *(*text)++ != ')') return NULL;
    return node;
}

const FoldRules *fold_parse_rules(Session *s) {
    FoldRules *rules = arena_alloc(&s->arena, sizeof *rules);
    Rule **end[OPS];
    for (int i = 0; i < OPS; i++) end[i] = &rules->first[i];
    for (int i = 0; i < ROWS; i++) {
        const struct FoldRow *row = &fold_rows[i];
        const char *pattern = row->pattern, *result = row->result;
        Rule *rule = arena_alloc(&s->arena, sizeof *rule);
        rule->class_ = row->class_;
        rule->pattern = parse_tree(s, &pattern, true);
        rule->result = parse_tree(s, &result, true);
        if (!rule->pattern || rule->pattern->kind != NODE_OP || *pattern || !rule->result ||
            *result) {
            diag(&s->diags, E_BUG, (Span){0},
                 "fold: the row '%s' is malformed; this is a bug in tilec", row->pattern);
            return NULL;
        }
        *end[rule->pattern->code] = rule;
        end[rule->pattern->code] = &rule->next;
    }
    return rules;
}

/* ---- matching ---- */

typedef struct Bound {
    Value *value[LETTERS];
} Bound;

/* Of a scalar that was spread twice, too: folding comes before equal operations are merged. */
static bool same_value(const Value *a, const Value *b) {
    enum { DEEP = 4 };
    int64_t x, y;
    for (int i = 0; i < DEEP && a != b && a->def && b->def && type_equal(a->type, b->type); i++) {
        OpCode code = a->def->code;
        if (fold_constant(a, &x)) return fold_constant(b, &y) && x == y;
        if (b->def->code != code ||
            (code != OP_SPLAT && code != OP_BROADCAST && code != OP_RESHAPE))
            return false;
        a = a->def->operand[0].value;
        b = b->def->operand[0].value;
    }
    return a == b;
}

static bool match_letter(int letter, Value *v, Bound *bound) {
    int64_t bits;
    if (letter >= FIRST_CONSTANT && !fold_constant(v, &bits)) return false;
    if (bound->value[letter]) return same_value(bound->value[letter], v);
    bound->value[letter] = v;
    return true;
}

static bool match(const Node *node, Value *v, Bound *bound);

/* Letters and numbers first: then an op below meets its letters bound, and need not be tried in
 * every order that suits it alone. */
static bool match_kids(const Node *node, const Op *op, bool swapped, Bound *bound) {
    for (int ops = 0; ops < 2; ops++)
        for (int i = 0; i < node->nkids; i++)
            if ((node->kid[i]->kind == NODE_OP) == ops &&
                !match(node->kid[i], op->operand[swapped ? !i : i].value, bound))
                return false;
    return true;
}

static bool match_op(const Node *node, const Op *op, Bound *bound) {
    if (!op || op->code != node->code || op->noperands != node->nkids) return false;
    if (node->pred >= 0 && ir_attr_int(op, AT_PRED, -1) != node->pred) return false;
    Bound before = *bound;
    if (match_kids(node, op, false, bound)) return true;
    *bound = before;
    if (!(op_traits(op) & TRAIT_C)) return false;
    if (match_kids(node, op, true, bound)) return true;
    *bound = before;
    return false;
}

static bool match(const Node *node, Value *v, Bound *bound) {
    int64_t bits;
    Elem e = (Elem)v->type.elem;
    switch (node->kind) {
    case NODE_LETTER: return match_letter(node->letter, v, bound);
    case NODE_INT:
        return type_is_int(v->type) && fold_constant(v, &bits) && bits == elem_wrap(e, node->i);
    case NODE_FLOAT:
        return type_is_float(v->type) && fold_constant(v, &bits) &&
               (uint64_t)bits == elem_from_double(e, node->f);
    case NODE_OP: return match_op(node, v->def, bound);
    }
    return false;
}

/* fp8 arithmetic saturates, so that not even x * 1 is always x: those are no FLOAT here. */
static bool in_class(FoldClass class_, const Value *x) {
    if (!x) return true;
    switch (class_) {
    case ANY: return true;
    case INT: return type_is_int(x->type);
    case SIGNED: return type_is_signed(x->type);
    case UNSIGNED: return type_is_int(x->type) && !type_is_signed(x->type);
    case BOOL: return type_is_bool(x->type);
    case FLOAT: return type_is_float(x->type) && type_elem_bits(x->type) > 8;
    }
    return false;
}

/* ---- building ---- */

/* `like`: the type of a literal, that of the op it belongs to. */
static Value *build(Fold *fold, const Node *node, const Bound *bound, Type like) {
    if (node->kind == NODE_LETTER) return bound->value[node->letter];
    if (node->kind == NODE_INT) return ir_const_int(&fold->b, like, node->i);
    if (node->kind == NODE_FLOAT) return ir_const_float(&fold->b, like, node->f);
    Value *kid[MAX_KIDS] = {0};
    for (int i = 0; i < node->nkids; i++)
        if (node->kid[i]->kind == NODE_LETTER || node->kid[i]->kind == NODE_OP) {
            kid[i] = build(fold, node->kid[i], bound, like);
            like = kid[i]->type;
        }
    for (int i = 0; i < node->nkids; i++)
        if (!kid[i]) kid[i] = build(fold, node->kid[i], bound, like);
    Value *v = ir_op1(&fold->b, node->code, kid, node->nkids);
    if (node->pred >= 0) ir_set_attr(fold->s, v->def, AT_PRED, node->pred);
    return v;
}

bool fold_by_rules(Fold *fold, Op *op) {
    if (op->nresults != 1) return false;
    for (const Rule *rule = fold->rules->first[op->code]; rule; rule = rule->next) {
        Bound bound = {0};
        if (!match_op(rule->pattern, op, &bound)) continue;
        /* x may be a select's condition, whose type says nothing about what is selected. */
        const Value *of = op->code == OP_SELECT ? op->result[0] : bound.value[X];
        if (!in_class(rule->class_, of)) continue;
        return fold_replace(op, build(fold, rule->result, &bound, op->result[0]->type));
    }
    return false;
}
