/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ast_print.c: syntax tree → indented text, one node a line, for --emit=ast.
 *
 * Convention: `kind detail @line:column`, what belongs to a node indented below it; a part whose
 * role is not plain from its order is preceded by the role and a colon. Recursion is as deep as the
 * tree is high, which the parser bounds. */
#include "frontend/syntax/ast.h"

#include <stdlib.h>
#include <string.h>

static const char *const expr_names[] = {
    [EXPR_NAME] = "name",
    [EXPR_INT] = "int",
    [EXPR_FLOAT] = "float",
    [EXPR_STRING] = "string",
    [EXPR_FSTRING] = "fstring",
    [EXPR_TRUE] = "True",
    [EXPR_FALSE] = "False",
    [EXPR_NONE] = "None",
    [EXPR_ELLIPSIS] = "...",
    [EXPR_TUPLE] = "tuple",
    [EXPR_SET] = "set",
    [EXPR_LIST] = "list",
    [EXPR_DICT] = "dict",
    [EXPR_UNARY] = "unary",
    [EXPR_BINARY] = "binary",
    [EXPR_BOOL] = "bool",
    [EXPR_COMPARE] = "compare",
    [EXPR_TERNARY] = "ternary",
    [EXPR_CALL] = "call",
    [EXPR_ATTRIBUTE] = "attribute",
    [EXPR_SUBSCRIPT] = "subscript",
    [EXPR_SLICE] = "slice",
    [EXPR_STARRED] = "starred",
    [EXPR_LAMBDA] = "lambda",
    [EXPR_LISTCOMP] = "listcomp",
    [EXPR_WALRUS] = "walrus",
};

static const char *const stmt_names[] = {
    [STMT_EXPR] = "expr",
    [STMT_ASSIGN] = "assign",
    [STMT_AUGASSIGN] = "augassign",
    [STMT_ANNASSIGN] = "annassign",
    [STMT_IF] = "if",
    [STMT_FOR] = "for",
    [STMT_WHILE] = "while",
    [STMT_RETURN] = "return",
    [STMT_ASSERT] = "assert",
    [STMT_RAISE] = "raise",
    [STMT_TRY] = "try",
    [STMT_PASS] = "pass",
    [STMT_BREAK] = "break",
    [STMT_IMPORT] = "import",
    [STMT_CONTINUE] = "continue",
    [STMT_DEF] = "def",
    [STMT_UNSUPPORTED] = "unsupported",
};

static void begin(Buf *out, int depth, const char *role) {
    for (int i = 0; i < depth; i++) buf_puts(out, "  ");
    if (role) buf_printf(out, "%s: ", role);
}

static void end(Buf *out, Span span) {
    buf_printf(out, " @%u:%u\n", span.line, span.col);
}

static void print_expr(const Expr *e, int depth, const char *role, Buf *out);

static void print_params(const AstParam *param, int n, int depth, Buf *out) {
    for (int i = 0; i < n; i++) {
        const AstParam *x = &param[i];
        begin(out, depth, NULL);
        buf_printf(out, "param %s%s", x->is_star_star ? "**" : x->is_star ? "*" : "", x->name);
        if (x->keyword_only) buf_puts(out, " keyword-only");
        end(out, x->span);
        print_expr(x->annotation, depth + 1, "annotation", out);
        print_expr(x->default_, depth + 1, "default", out);
    }
}

/* The shortest digits that read back as the same value, with a point whatever the locale's is. */
static void print_float(double x, Buf *out) {
    Buf text = buf_new(out->arena);
    for (int digits = 1; digits <= 17; digits++) {
        text.len = 0;
        buf_printf(&text, "%.*g", digits, x);
        if (strtod(text.data, NULL) == x) break;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+';
        buf_putc(out, plain ? c : '.');
    }
}

static void print_detail(const Expr *e, Buf *out) {
    switch (e->kind) {
    case EXPR_NAME:
    case EXPR_ATTRIBUTE:
    case EXPR_WALRUS: buf_printf(out, " %s", e->name); break;
    case EXPR_INT:
        if (e->integer_is_u64)
            buf_printf(out, " %llu", (unsigned long long)e->integer);
        else
            buf_printf(out, " %lld", (long long)e->integer);
        break;
    case EXPR_FLOAT:
        buf_putc(out, ' ');
        print_float(e->number, out);
        break;
    case EXPR_STRING:
        buf_putc(out, ' ');
        buf_quote(out, e->string, e->string_len);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_BOOL: buf_printf(out, " %s", operator_text[e->op]); break;
    case EXPR_LISTCOMP:
        if (e->is_inner_for) buf_puts(out, " inner-for");
        if (e->is_set) buf_puts(out, " set");
        if (e->is_dict) buf_puts(out, " dict");
        break;
    default: break;
    }
}

/* How the parts of a node are called; NULL: plain from the order. */
static const struct {
    const char *left, *right, *cond, *item;
} roles[] = {
    [EXPR_CALL] = {NULL, NULL, NULL, "arg"},     [EXPR_TERNARY] = {"then", "else", "if", NULL},
    [EXPR_SLICE] = {"from", "to", "step", NULL}, [EXPR_LISTCOMP] = {"item", "for", "in", "if"},
    [EXPR_LAMBDA] = {"body", NULL, NULL, NULL},  [EXPR_WALRUS] = {NULL, NULL, NULL, NULL},
};

static void print_expr(const Expr *e, int depth, const char *role, Buf *out) {
    if (!e) return;
    begin(out, depth, role);
    buf_puts(out, expr_names[e->kind]);
    print_detail(e, out);
    end(out, e->span);
    depth++;
    print_params(e->lambda_param, e->nlambda_params, depth, out);
    print_expr(e->left, depth, roles[e->kind].left, out);
    print_expr(e->right, depth, roles[e->kind].right, out);
    print_expr(e->cond, depth, roles[e->kind].cond, out);
    for (int i = 0; i < e->nitems; i++) {
        const char *item = e->kind == EXPR_COMPARE ? operator_text[e->compare_op[i]]
                           : e->kind == EXPR_DICT  ? (i % 2 ? "value" : "key")
                                                   : roles[e->kind].item;
        print_expr(e->item[i], depth, item, out);
    }
    for (int i = 0; i < e->nkeywords; i++) {
        begin(out, depth, NULL);
        buf_printf(out, "keyword %s", e->keyword[i].name ? e->keyword[i].name : "**");
        end(out, e->keyword[i].span);
        print_expr(e->keyword[i].value, depth + 1, NULL, out);
    }
}

static void print_func(const AstFunc *f, int depth, Buf *out);

static void print_import(const AstImport *x, Buf *out) {
    if (x->member)
        buf_printf(out, "import %s from %s as %s", x->member, x->module, x->as);
    else
        buf_printf(out, "import %s as %s", x->module, x->as);
    end(out, x->span);
}

static void print_block(const StmtList *block, int depth, const char *label, Buf *out) {
    if (block->n == 0) return;
    begin(out, depth, NULL);
    buf_printf(out, "%s:\n", label);
    depth++;
    for (int i = 0; i < block->n; i++) {
        const Stmt *s = block->at[i];
        begin(out, depth, NULL);
        buf_puts(out, stmt_names[s->kind]);
        if (s->kind == STMT_AUGASSIGN) buf_printf(out, " %s=", operator_text[s->op]);
        if (s->kind == STMT_UNSUPPORTED) buf_printf(out, " %s", s->name);
        end(out, s->span);
        for (int k = 0; k < s->ntargets; k++) print_expr(s->target[k], depth + 1, "target", out);
        print_expr(s->annotation, depth + 1, "annotation", out);
        print_expr(s->value, depth + 1, s->kind == STMT_FOR ? "in" : NULL, out);
        print_expr(s->message, depth + 1, "message", out);
        print_block(&s->body, depth + 1, "body", out);
        print_block(&s->orelse, depth + 1, "else", out);
        print_block(&s->last, depth + 1, "finally", out);
        if (s->func) print_func(s->func, depth + 1, out);
        for (int k = 0; k < s->nimports; k++) {
            begin(out, depth + 1, NULL);
            print_import(&s->import[k], out);
        }
    }
}

static void print_func(const AstFunc *f, int depth, Buf *out) {
    begin(out, depth, NULL);
    buf_printf(out, "func %s", f->name);
    end(out, f->span);
    depth++;
    for (int i = 0; i < f->ndirectives; i++) {
        begin(out, depth, NULL);
        buf_printf(out, "directive %s = ", f->directive[i].key);
        buf_quote(out, f->directive[i].text, strlen(f->directive[i].text));
        end(out, f->directive[i].span);
    }
    for (int i = 0; i < f->ndecorators; i++) print_expr(f->decorator[i], depth, "decorator", out);
    print_params(f->param, f->nparams, depth, out);
    if (f->docstring) {
        begin(out, depth, "docstring");
        buf_quote(out, f->docstring, strlen(f->docstring));
        buf_putc(out, '\n');
    }
    print_block(&f->body, depth, "body", out);
}

static void print_class(const AstClass *c, Buf *out) {
    buf_printf(out, "class %s", c->name);
    end(out, c->span);
    for (int i = 0; i < c->ndecorators; i++) print_expr(c->decorator[i], 1, "decorator", out);
    for (int i = 0; i < c->nbases; i++) print_expr(c->base[i], 1, "base", out);
    for (int i = 0; i < c->nfields; i++) {
        begin(out, 1, NULL);
        buf_printf(out, "field %s", c->field[i].name);
        end(out, c->field[i].span);
        print_expr(c->field[i].annotation, 2, "annotation", out);
        print_expr(c->field[i].value, 2, NULL, out);
    }
    for (int i = 0; i < c->nfuncs; i++) print_func(c->func[i], 1, out);
}

void ast_print(const AstFile *file, Buf *out) {
    for (int i = 0; i < file->nimports; i++) print_import(&file->import[i], out);
    for (int i = 0; i < file->nglobals; i++) {
        const AstGlobal *x = &file->global[i];
        buf_printf(out, "global %s", x->name);
        end(out, x->span);
        print_expr(x->annotation, 1, "annotation", out);
        print_expr(x->value, 1, NULL, out);
    }
    for (int i = 0; i < file->nclasses; i++) print_class(file->class_[i], out);
    for (int i = 0; i < file->nfuncs; i++) print_func(file->func[i], 0, out);
}
