/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* grammar.y: tokens → syntax tree, for one function, import or assignment at a time.
 *
 * It is Python's grammar as far as a kernel can use it. Actions only build nodes. A statement that
 * does not parse is left out and reading goes on after its line; when a block follows that line,
 * the block is read as well, so that each mistake is reported once and on its own. Statements that
 * no kernel can hold come as one UNSUPPORTED token (parse.c). */

%code requires {
#include "frontend/syntax/parser.h"
}

%code provides {
enum { TOK_ERROR = TOK_TILE_YYerror }; /* makes the parser recover without a word of its own */
int tile_yylex(TILE_YYSTYPE *value, Span *span, Parser *p);
}

%code {
#include <string.h>

/* Where an empty rule stands: right behind what came before. */
#define YYLLOC_DEFAULT(result, rhs, n)                                                             \
    ((result) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                                \
                    : (Span){.line = YYRHSLOC(rhs, 0).line,                                        \
                             .col = YYRHSLOC(rhs, 0).end,                                          \
                             .end = YYRHSLOC(rhs, 0).end})

/* The parser's stacks live in the arena and have a limit; malloc is out of the picture, since
 * control may leave through the arena at any allocation. Lookahead correction has its own small
 * stack, which only the few empty rules of this grammar can fill. */
#define YYINITDEPTH 200
#define YYMALLOC(bytes) NULL
#define YYFREE(at) ((void)(at))
#define yyoverflow(message, ss, ss_bytes, vs, vs_bytes, ls, ls_bytes, size)                        \
    do {                                                                                           \
        StackPart part[] = {{ss, ss_bytes}, {vs, vs_bytes}, {ls, ls_bytes}};                       \
        if (!parser_grow_stacks(p, yylloc, part, 3, size)) YYABORT;                                \
    } while (0)

static void tile_yyerror(const Span *span, Parser *p, const char *message);

#define NEW(T) ((T *)arena_alloc(&p->s->arena, sizeof(T)))
#define PUSH(v, x) vec_push(&p->s->arena, (v), (x))

static Buf *new_text(Parser *p, const char *text) {
    Buf *b = NEW(Buf);
    *b = buf_new(&p->s->arena);
    buf_puts(b, text);
    return b;
}
}

%define api.pure full
%define api.prefix {tile_yy}
%define api.token.prefix {TOK_}
%define api.token.raw
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%define parse.lac.es-capacity-initial {1000}
%locations
%expect 0
%parse-param { Parser *p }
%lex-param { Parser *p }

%union {
    const Token *token;
    Expr *expr;
    Stmt *stmt;
    AstFunc *func;
    ExprVec *exprs;
    StmtVec *stmts;
    ArgVec *args;
    ParamVec *params;
    AstParam param;
    Arg arg;
    CompVec *clauses;
    CompFor *clause;
    ElifVec *elifs;
    Operator op;
    const char *text;
    Buf *buf;
}

%token YYEOF 0 "end of file"
%token START_FUNCTION "function" START_IMPORT "import statement" START_ASSIGNMENT "assignment"
%token NEWLINE "end of line" INDENT "indent" DEDENT "end of block"
%token <token> NAME "name" INTEGER "integer" FLOAT "number" STRING "string"
%token <token> FSTRING_START "f-string" FSTRING_TEXT "text" FSTRING_LABEL "'=' in a string"
%token <token> FSTRING_END "end of string"
%token <token> FIELD_OPEN "'{' in a string" FIELD_CLOSE "'}' in a string"
%token <text> UNSUPPORTED "statement"
%token TRUE "'True'" FALSE "'False'" NONE "'None'" ELLIPSIS "'...'"
%token AND "'and'" OR "'or'" NOT "'not'" IN "'in'" IS "'is'" IF "'if'" ELIF "'elif'" ELSE "'else'"
%token FOR "'for'" WHILE "'while'" DEF "'def'" RETURN "'return'" LAMBDA "'lambda'" PASS "'pass'"
%token BREAK "'break'" CONTINUE "'continue'" ASSERT "'assert'" IMPORT "'import'" FROM "'from'"
%token AS "'as'"
%token ASYNC "'async'" AWAIT "'await'" CLASS "'class'" DEL "'del'" EXCEPT "'except'"
%token FINALLY "'finally'"
%token GLOBAL "'global'" NONLOCAL "'nonlocal'" RAISE "'raise'" TRY "'try'" WITH "'with'"
%token YIELD "'yield'"
%token LPAREN "'('" RPAREN "')'" LBRACKET "'['" RBRACKET "']'" LBRACE "'{'" RBRACE "'}'"
%token COMMA "','" COLON "':'" SEMICOLON "';'" DOT "'.'" ARROW "'->'" WALRUS "':='" ASSIGN "'='"
%token PLUS "'+'" MINUS "'-'" STAR "'*'" SLASH "'/'" FLOORDIV "'//'" PERCENT "'%'" POWER "'**'"
%token AT "'@'"
%token AMPERSAND "'&'" BAR "'|'" CARET "'^'" TILDE "'~'" SHL "'<<'" SHR "'>>'"
%token EQ "'=='" NE "'!='" LT "'<'" LE "'<='" GT "'>'" GE "'>='"
%token ADD_ASSIGN "'+='" SUB_ASSIGN "'-='" MUL_ASSIGN "'*='" DIV_ASSIGN "'/='"
%token FLOORDIV_ASSIGN "'//='"
%token MOD_ASSIGN "'%='" POW_ASSIGN "'**='" MATMUL_ASSIGN "'@='" AND_ASSIGN "'&='" OR_ASSIGN "'|='"
%token XOR_ASSIGN "'^='" SHL_ASSIGN "'<<='" SHR_ASSIGN "'>>='"

%precedence NO_BLOCK
%precedence INDENT
%left BAR
%left CARET
%left AMPERSAND
%left SHL SHR
%left PLUS MINUS
%left STAR SLASH FLOORDIV PERCENT AT
%precedence UNARY
%right POWER

%type <func> function def_rest def_head
%type <exprs> decorators star_tests subscripts slices named_list for_items strings fstring_parts
%type <exprs> pairs pair
%type <expr> test named or_test and_test not_test comparison arith primary atom testlist star_test
%type <expr> star_named string fstring_part slice slice_part slice_step
%type <expr> for_targets for_item dict_or_set
%type <expr> annotation return_value
%type <stmts> suite stmts stmt_item simple_line simples bad_block
%type <stmt> simple assign compound if_stmt for_stmt while_stmt try_stmt
%type <elifs> elifs
%type <stmts> orelse finally
%type <args> args arg_list
%type <arg> arg
%type <params> params param_list lambda_params lambda_list
%type <param> param lambda_param
%type <clauses> clauses
%type <clause> clause
%type <op> comp_op aug_op
%type <buf> dotted from_module dots

%%

unit:
    START_FUNCTION function YYEOF       { p->func = $function; }
  | START_IMPORT import YYEOF
  | START_ASSIGNMENT simple YYEOF       { p->stmt = $simple; }
  ;

/* ---- functions ---- */

function:
    decorators DEF def_rest {
        $$ = $def_rest;
        if ($$) {
            $$->decorator = $decorators->at;
            $$->ndecorators = $decorators->n;
        }
    }
  | decorators bad_line bad_block       { $$ = NULL; }
  ;
decorators:
    %empty                              { $$ = NEW(ExprVec); }
  | decorators AT named NEWLINE         { $$ = $1; PUSH($$, $named); }
  | decorators AT bad_line              { $$ = $1; }
  ;
def_rest:
    def_head suite                      { $$ = $1; func_body($$, $2); }
  | bad_line bad_block                  { $$ = NULL; }
  ;
def_head:
    NAME LPAREN params RPAREN return_value COLON { $$ = func_new(p, $NAME, $params); }
  ;
return_value:
    %empty                              { $$ = NULL; }
  | ARROW test                          { $$ = $test; }
  ;
params:
    %empty                              { $$ = NEW(ParamVec); }
  | param_list
  | param_list COMMA
  ;
param_list:
    param                               { $$ = NEW(ParamVec); PUSH($$, $param); }
  | param_list COMMA param              { $$ = $1; PUSH($$, $param); }
  ;
param:
    NAME annotation {
        $$ = (AstParam){.name = token_name(p, $NAME), .annotation = $annotation, .span = @NAME};
    }
  | NAME annotation ASSIGN test {
        $$ = (AstParam){.name = token_name(p, $NAME), .annotation = $annotation,
                        .default_ = $test, .span = @NAME};
    }
  | STAR NAME annotation {
        $$ = (AstParam){.name = token_name(p, $NAME), .annotation = $annotation,
                        .is_star = true, .span = @NAME};
    }
  | POWER NAME annotation {
        $$ = (AstParam){.name = token_name(p, $NAME), .annotation = $annotation,
                        .is_star_star = true, .span = @NAME};
    }
  | STAR                                { $$ = (AstParam){.is_star = true, .span = @$}; }
  | SLASH                               { $$ = (AstParam){.span = @$}; }
  ;
annotation:
    %empty                              { $$ = NULL; }
  | COLON test                          { $$ = $test; }
  ;

/* ---- statements ---- */

suite:
    simple_line
  | NEWLINE INDENT stmts DEDENT         { $$ = $stmts; }
  | NEWLINE %prec NO_BLOCK              { syntax_missing_block(p, @1); $$ = NEW(StmtVec); }
  ;
stmts:
    stmt_item
  | stmts stmt_item                     { $$ = $1; stmts_add_all(p, $$, $2); }
  ;
stmt_item:
    simple_line
  | compound                            { $$ = NEW(StmtVec); stmts_add(p, $$, $1); }
  | unexpected_indent stmts DEDENT      { $$ = $stmts; }
  | bad_line bad_block bad_clauses      { $$ = $bad_block; }
  ;
bad_line:
    error NEWLINE                       { yyerrok; }
  ;
unexpected_indent:
    INDENT                              { parser_error(p, E_INDENTATION, @1, "unexpected indent"); }
  ;
bad_block:
    %empty %prec NO_BLOCK               { $$ = NEW(StmtVec); }
  | INDENT stmts DEDENT                 { $$ = $stmts; }
  ;
bad_clauses: /* what belongs to an `if` whose own line did not parse */
    %empty
  | bad_clauses ELIF named COLON suite
  | bad_clauses ELSE COLON suite
  ;
simple_line:
    simples NEWLINE
  | simples SEMICOLON NEWLINE
  ;
simples:
    simple                              { $$ = NEW(StmtVec); stmts_add(p, $$, $1); }
  | simples SEMICOLON simple            { $$ = $1; stmts_add(p, $$, $3); }
  ;
simple:
    testlist                            { $$ = stmt_new(p, STMT_EXPR, @$); $$->value = $1; }
  | assign testlist                     { $$ = $1; $$->value = $2; $$->span = @$; }
  | testlist aug_op testlist {
        $$ = stmt_new(p, STMT_AUGASSIGN, @$);
        stmt_target(p, $$, $1);
        $$->op = $2;
        $$->value = $3;
    }
  | testlist COLON test {
        $$ = stmt_new(p, STMT_ANNASSIGN, @$);
        stmt_target(p, $$, $1);
        $$->annotation = $3;
    }
  | testlist COLON test ASSIGN testlist {
        $$ = stmt_new(p, STMT_ANNASSIGN, @$);
        stmt_target(p, $$, $1);
        $$->annotation = $3;
        $$->value = $5;
    }
  | RETURN                              { $$ = stmt_new(p, STMT_RETURN, @$); }
  | RETURN testlist                     { $$ = stmt_new(p, STMT_RETURN, @$); $$->value = $2; }
  | ASSERT test                         { $$ = stmt_new(p, STMT_ASSERT, @$); $$->value = $2; }
  | ASSERT test COMMA test {
        $$ = stmt_new(p, STMT_ASSERT, @$);
        $$->value = $2;
        $$->message = $4;
    }
  | RAISE                               { $$ = stmt_new(p, STMT_RAISE, @$); }
  | RAISE test                          { $$ = stmt_new(p, STMT_RAISE, @$); $$->value = $2; }
  | RAISE test FROM test                { $$ = stmt_new(p, STMT_RAISE, @$); $$->value = $2; }
  | import                              { $$ = stmt_import(p, @$); }
  | PASS                                { $$ = stmt_new(p, STMT_PASS, @$); }
  | BREAK                               { $$ = stmt_new(p, STMT_BREAK, @$); }
  | CONTINUE                            { $$ = stmt_new(p, STMT_CONTINUE, @$); }
  | UNSUPPORTED                         { $$ = stmt_new(p, STMT_UNSUPPORTED, @$); $$->name = $1; }
  ;
assign:
    testlist ASSIGN {
        $$ = stmt_new(p, STMT_ASSIGN, @$);
        stmt_target(p, $$, $1);
    }
  | assign testlist ASSIGN              { $$ = $1; stmt_target(p, $$, $2); }
  ;
aug_op:
    ADD_ASSIGN { $$ = OPR_ADD; }                | SUB_ASSIGN { $$ = OPR_SUB; }
  | MUL_ASSIGN { $$ = OPR_MUL; }                | DIV_ASSIGN { $$ = OPR_DIV; }
  | FLOORDIV_ASSIGN { $$ = OPR_FLOORDIV; }      | MOD_ASSIGN { $$ = OPR_MOD; }
  | POW_ASSIGN { $$ = OPR_POW; }                | MATMUL_ASSIGN { $$ = OPR_MATMUL; }
  | AND_ASSIGN { $$ = OPR_AND; }                | OR_ASSIGN { $$ = OPR_OR; }
  | XOR_ASSIGN { $$ = OPR_XOR; }                | SHL_ASSIGN { $$ = OPR_SHL; }
  | SHR_ASSIGN { $$ = OPR_SHR; }
  ;
compound:
    if_stmt
  | for_stmt
  | while_stmt
  | try_stmt
  | DEF def_rest                        { $$ = stmt_def(p, @1, $2); }
  ;
if_stmt:
    IF named COLON suite elifs orelse {
        $$ = stmt_if(p, &(Elif){$named, $suite, span_join(@1, @3)}, $elifs, $orelse);
    }
  ;
elifs:
    %empty                              { $$ = NEW(ElifVec); }
  | elifs ELIF named COLON suite {
        $$ = $1;
        PUSH($$, ((Elif){$named, $suite, span_join(@ELIF, @COLON)}));
    }
  ;
orelse:
    %empty                              { $$ = NULL; }
  | ELSE COLON suite                    { $$ = $suite; }
  ;
try_stmt:
    TRY COLON suite handlers orelse finally {
        $$ = stmt_new(p, STMT_TRY, span_join(@1, @COLON));
        $$->name = "try";
        stmt_block(p, $$, &$$->body, $suite);
        if ($orelse) stmt_block(p, $$, &$$->orelse, $orelse);
        if ($finally) stmt_block(p, $$, &$$->last, $finally);
    }
  ;
handlers:
    %empty
  | handlers EXCEPT COLON suite
  | handlers EXCEPT testlist COLON suite
  | handlers EXCEPT testlist AS NAME COLON suite
  ;
finally:
    %empty                              { $$ = NULL; }
  | FINALLY COLON suite                 { $$ = $suite; }
  ;
for_stmt:
    FOR for_targets IN testlist COLON suite orelse {
        $$ = stmt_new(p, STMT_FOR, span_join(@1, @COLON));
        stmt_target(p, $$, $for_targets);
        $$->value = $testlist;
        stmt_block(p, $$, &$$->body, $suite);
        if ($orelse) {
            $$->kind = STMT_UNSUPPORTED;
            $$->name = "else after for";
            $$->span = @orelse;
        }
    }
  ;
while_stmt:
    WHILE named COLON suite orelse {
        $$ = stmt_new(p, STMT_WHILE, span_join(@1, @COLON));
        $$->value = $named;
        stmt_block(p, $$, &$$->body, $suite);
        if ($orelse) {
            $$->kind = STMT_UNSUPPORTED;
            $$->name = "else after while";
            $$->span = @orelse;
        }
    }
  ;

/* ---- expressions ---- */

testlist: /* with one item or more, a tuple without parentheses */
    star_tests                          { $$ = expr_testlist(p, $1, @$); }
  | star_tests COMMA {
        $1->trailing_comma = true;
        $$ = expr_testlist(p, $1, @$);
    }
  ;
star_tests:
    star_test                           { $$ = NEW(ExprVec); PUSH($$, $1); }
  | star_tests COMMA star_test          { $$ = $1; PUSH($$, $3); }
  ;
star_test:
    test
  | STAR arith                          { $$ = expr_starred(p, $2, @$); }
  ;
for_targets:
    for_items                           { $$ = expr_testlist(p, $1, @$); }
  | for_items COMMA {
        $1->trailing_comma = true;
        $$ = expr_testlist(p, $1, @$);
    }
  ;
for_items:
    for_item                            { $$ = NEW(ExprVec); PUSH($$, $1); }
  | for_items COMMA for_item            { $$ = $1; PUSH($$, $3); }
  ;
for_item:
    arith
  | STAR arith                          { $$ = expr_starred(p, $2, @$); }
  ;

named:
    test
  | NAME WALRUS test                    { $$ = expr_walrus(p, $1, $3, @$); }
  ;
test:
    or_test
  | or_test[then] IF or_test[cond] ELSE test[otherwise] {
        $$ = expr_ternary(p, $then, $cond, $otherwise, @$);
    }
  | LAMBDA lambda_params COLON test     { $$ = expr_lambda(p, $2, $4, @$); }
  ;
lambda_params:
    %empty                              { $$ = NEW(ParamVec); }
  | lambda_list
  | lambda_list COMMA
  ;
lambda_list:
    lambda_param                        { $$ = NEW(ParamVec); PUSH($$, $1); }
  | lambda_list COMMA lambda_param      { $$ = $1; PUSH($$, $3); }
  ;
lambda_param:
    NAME                                { $$ = (AstParam){.name = token_name(p, $1), .span = @1}; }
  | NAME ASSIGN test {
        $$ = (AstParam){.name = token_name(p, $1), .default_ = $3, .span = @1};
    }
  | STAR NAME {
        $$ = (AstParam){.name = token_name(p, $2), .is_star = true, .span = @2};
    }
  | POWER NAME {
        $$ = (AstParam){.name = token_name(p, $2), .is_star_star = true, .span = @2};
    }
  | STAR                                { $$ = (AstParam){.is_star = true, .span = @$}; }
  ;
or_test:
    and_test
  | or_test OR and_test {
        $$ = expr_binary(p, EXPR_BOOL, OPR_LOGICAL_OR, @2, $1, $3, @$);
    }
  ;
and_test:
    not_test
  | and_test AND not_test {
        $$ = expr_binary(p, EXPR_BOOL, OPR_LOGICAL_AND, @2, $1, $3, @$);
    }
  ;
not_test:
    arith
  | comparison
  | NOT not_test                        { $$ = expr_unary(p, OPR_NOT, @1, $2, @$); }
  ;
comparison:
    arith comp_op arith                 { $$ = expr_compare(p, $1, $2, @2, $3, @$); }
  | comparison comp_op arith            { $$ = expr_compare(p, $1, $2, @2, $3, @$); }
  ;
comp_op:
    EQ { $$ = OPR_EQ; }                         | NE { $$ = OPR_NE; }
  | LT { $$ = OPR_LT; }                         | LE { $$ = OPR_LE; }
  | GT { $$ = OPR_GT; }                         | GE { $$ = OPR_GE; }
  | IS { $$ = OPR_IS; }                         | IN { $$ = OPR_IN; }
  | IS NOT { $$ = OPR_IS_NOT; }                 | NOT IN { $$ = OPR_NOT_IN; }
  ;
arith:
    primary
  | MINUS arith %prec UNARY             { $$ = expr_unary(p, OPR_NEG, @1, $2, @$); }
  | PLUS arith %prec UNARY              { $$ = expr_unary(p, OPR_POS, @1, $2, @$); }
  | TILDE arith %prec UNARY             { $$ = expr_unary(p, OPR_INVERT, @1, $2, @$); }
  | arith PLUS arith        { $$ = expr_binary(p, EXPR_BINARY, OPR_ADD, @2, $1, $3, @$); }
  | arith MINUS arith       { $$ = expr_binary(p, EXPR_BINARY, OPR_SUB, @2, $1, $3, @$); }
  | arith STAR arith        { $$ = expr_binary(p, EXPR_BINARY, OPR_MUL, @2, $1, $3, @$); }
  | arith SLASH arith       { $$ = expr_binary(p, EXPR_BINARY, OPR_DIV, @2, $1, $3, @$); }
  | arith FLOORDIV arith    { $$ = expr_binary(p, EXPR_BINARY, OPR_FLOORDIV, @2, $1, $3, @$); }
  | arith PERCENT arith     { $$ = expr_binary(p, EXPR_BINARY, OPR_MOD, @2, $1, $3, @$); }
  | arith POWER arith       { $$ = expr_binary(p, EXPR_BINARY, OPR_POW, @2, $1, $3, @$); }
  | arith AT arith          { $$ = expr_binary(p, EXPR_BINARY, OPR_MATMUL, @2, $1, $3, @$); }
  | arith AMPERSAND arith   { $$ = expr_binary(p, EXPR_BINARY, OPR_AND, @2, $1, $3, @$); }
  | arith BAR arith         { $$ = expr_binary(p, EXPR_BINARY, OPR_OR, @2, $1, $3, @$); }
  | arith CARET arith       { $$ = expr_binary(p, EXPR_BINARY, OPR_XOR, @2, $1, $3, @$); }
  | arith SHL arith         { $$ = expr_binary(p, EXPR_BINARY, OPR_SHL, @2, $1, $3, @$); }
  | arith SHR arith         { $$ = expr_binary(p, EXPR_BINARY, OPR_SHR, @2, $1, $3, @$); }
  ;
primary:
    atom
  | primary DOT NAME                    { $$ = expr_attribute(p, $1, $3, @$); }
  | primary LPAREN args RPAREN          { $$ = expr_call(p, $1, $3, @$); }
  | primary LBRACKET subscripts RBRACKET {
        $$ = expr_subscript(p, $1, expr_testlist(p, $3, @3), @$);
    }
  ;
atom:
    NAME                                { $$ = expr_name(p, $1); }
  | INTEGER                             { $$ = expr_number(p, $1); }
  | FLOAT                               { $$ = expr_number(p, $1); }
  | strings                             { $$ = expr_join_strings(p, $1, @$); }
  | TRUE                                { $$ = expr_leaf(p, EXPR_TRUE, @$); }
  | FALSE                               { $$ = expr_leaf(p, EXPR_FALSE, @$); }
  | NONE                                { $$ = expr_leaf(p, EXPR_NONE, @$); }
  | ELLIPSIS                            { $$ = expr_leaf(p, EXPR_ELLIPSIS, @$); }
  | LPAREN RPAREN                       { $$ = expr_items(p, EXPR_TUPLE, &(ExprVec){0}, @$); }
  | LPAREN named_list RPAREN {
        $$ = expr_parenthesised(p, expr_testlist(p, $2, $2->n > 1 ? @$ : @2));
    }
  | LPAREN named_list COMMA RPAREN {
        $$ = expr_parenthesised(p, expr_items(p, EXPR_TUPLE, $2, @$));
    }
  | LPAREN named clauses RPAREN         { $$ = expr_comprehension(p, $2, $3, @$); }
  | LBRACKET RBRACKET                   { $$ = expr_items(p, EXPR_LIST, &(ExprVec){0}, @$); }
  | LBRACKET named_list RBRACKET {
        $$ = expr_parenthesised(p, expr_items(p, EXPR_LIST, $2, @$));
    }
  | LBRACKET named_list COMMA RBRACKET {
        $$ = expr_parenthesised(p, expr_items(p, EXPR_LIST, $2, @$));
    }
  | LBRACKET named clauses RBRACKET     { $$ = expr_comprehension(p, $2, $3, @$); }
  | LBRACE dict_or_set RBRACE           { $$ = expr_parenthesised(p, $2); $$->span = @$; }
  ;
named_list:
    star_named                          { $$ = NEW(ExprVec); PUSH($$, $1); }
  | named_list COMMA star_named         { $$ = $1; PUSH($$, $3); }
  ;
star_named:
    named
  | STAR arith                          { $$ = expr_starred(p, $2, @$); }
  ;
dict_or_set:
    %empty                              { $$ = expr_items(p, EXPR_DICT, &(ExprVec){0}, @$); }
  | pairs                               { $$ = expr_items(p, EXPR_DICT, $1, @$); }
  | pairs COMMA                         { $$ = expr_items(p, EXPR_DICT, $1, @$); }
  | named_list                          { $$ = expr_items(p, EXPR_SET, $1, @$); }
  | named_list COMMA                    { $$ = expr_items(p, EXPR_SET, $1, @$); }
  | named clauses {
        $$ = expr_comprehension(p, $1, $2, @$);
        $$->is_set = true;
    }
  | test[key] COLON test[value] clauses {
        ExprVec pair = {0};
        PUSH(&pair, $key);
        PUSH(&pair, $value);
        $$ = expr_comprehension(p, expr_items(p, EXPR_TUPLE, &pair, @$), $clauses, @$);
        $$->is_dict = true;
    }
  ;
pairs:
    pair                                { $$ = $1; }
  | pairs COMMA pair                    { $$ = $1; PUSH($$, $3->at[0]); PUSH($$, $3->at[1]); }
  ;
pair:
    test COLON test                     { $$ = NEW(ExprVec); PUSH($$, $1); PUSH($$, $3); }
  | POWER arith {
        $$ = NEW(ExprVec);
        PUSH($$, expr_starred(p, $2, @$));
        PUSH($$, $2);
    }
  ;
clauses:
    clause                              { $$ = NEW(CompVec); PUSH($$, *$1); }
  | clauses clause                      { $$ = $1; PUSH($$, *$2); }
  ;
clause:
    FOR for_targets IN or_test {
        $$ = NEW(CompFor);
        $$->target = $2;
        $$->iter = $4;
    }
  | clause IF or_test                   { $$ = $1; PUSH(&$$->conditions, $3); }
  ;

/* ---- strings ---- */

strings: /* neighbours join */
    string                              { $$ = NEW(ExprVec); PUSH($$, $1); }
  | FSTRING_START fstring_parts FSTRING_END { $$ = $2; $$->trailing_comma = true; }
  | strings string                      { $$ = $1; PUSH($$, $2); }
  | strings FSTRING_START fstring_parts FSTRING_END {
        $$ = $1;
        for (int i = 0; i < $3->n; i++) PUSH($$, $3->at[i]);
        $$->trailing_comma = true;
    }
  ;
string:
    STRING                              { $$ = expr_string(p, $1); }
  ;
fstring_parts:
    %empty                              { $$ = NEW(ExprVec); }
  | fstring_parts fstring_part          { $$ = $1; PUSH($$, $2); }
  | fstring_parts FIELD_OPEN testlist FSTRING_LABEL FIELD_CLOSE {
        $$ = $1;
        PUSH($$, expr_label(p, $4));
        PUSH($$, expr_field(p, $3, $5, true));
    }
  ;
fstring_part:
    FSTRING_TEXT                        { $$ = expr_string(p, $1); }
  | FIELD_OPEN testlist FIELD_CLOSE     { $$ = expr_field(p, $2, $3, false); }
  ;

/* ---- calls and subscripts ---- */

args:
    %empty                              { $$ = NEW(ArgVec); }
  | arg_list
  | arg_list COMMA
  | test clauses {
        $$ = NEW(ArgVec);
        args_add(p, $$, &(Arg){expr_comprehension(p, $1, $2, @$), .span = @$});
    }
  ;
arg_list:
    arg                                 { $$ = NEW(ArgVec); args_add(p, $$, &$1); }
  | arg_list COMMA arg                  { $$ = $1; args_add(p, $$, &$3); }
  ;
arg:
    named                               { $$ = (Arg){.value = $1, .span = @$}; }
  | STAR test                  { $$ = (Arg){expr_starred(p, $2, @$), .span = @$}; }
  | NAME ASSIGN test                    { $$ = (Arg){$3, token_name(p, $1), true, @$}; }
  | POWER test                          { $$ = (Arg){$2, NULL, true, @$}; }
  ;
subscripts:
    slices
  | slices COMMA                        { $$ = $1; $$->trailing_comma = true; }
  ;
slices:
    slice                               { $$ = NEW(ExprVec); PUSH($$, $1); }
  | slices COMMA slice                  { $$ = $1; PUSH($$, $3); }
  ;
slice:
    named
  | STAR arith                          { $$ = expr_starred(p, $2, @$); }
  | slice_part COLON slice_part slice_step { $$ = expr_slice(p, $1, $3, $4, @$); }
  ;
slice_part:
    %empty                              { $$ = NULL; }
  | test
  ;
slice_step:
    %empty                              { $$ = NULL; }
  | COLON slice_part                    { $$ = $2; }
  ;

/* ---- imports ---- */

import:
    IMPORT plain_imports
  | FROM from_module IMPORT members     { import_from(p, $from_module->data); }
  | FROM from_module IMPORT STAR {
        import_add(p, NULL, NULL, @STAR);
        import_from(p, $from_module->data);
    }
  ;
plain_imports:
    plain_import
  | plain_imports COMMA plain_import
  ;
plain_import:
    dotted                              { import_module(p, $1->data, NULL, @$); }
  | dotted AS NAME                      { import_module(p, $1->data, $3, @$); }
  ;
from_module:
    dotted
  | dots
  | dots dotted                         { $$ = $1; buf_write($$, $2->data, $2->len); }
  ;
dots:
    DOT                                 { $$ = new_text(p, "."); }
  | ELLIPSIS                            { $$ = new_text(p, "..."); }
  | dots DOT                            { $$ = $1; buf_puts($$, "."); }
  | dots ELLIPSIS                       { $$ = $1; buf_puts($$, "..."); }
  ;
dotted:
    NAME                                { $$ = new_text(p, token_name(p, $1)); }
  | dotted DOT NAME {
        $$ = $1;
        buf_printf($$, ".%s", token_name(p, $3));
    }
  ;
members:
    member_list
  | LPAREN member_list RPAREN
  | LPAREN member_list COMMA RPAREN
  ;
member_list:
    member
  | member_list COMMA member
  ;
member:
    NAME                                { import_add(p, $1, NULL, @$); }
  | NAME AS NAME                        { import_add(p, $1, $3, @$); }
  ;

%%

static const char *display_name(int kind) { return yysymbol_name((yysymbol_kind_t)kind); }

static int yyreport_syntax_error(const yypcontext_t *at, Parser *p) {
    yysymbol_kind_t expected[YYNTOKENS];
    int kinds[YYNTOKENS];
    int n = yypcontext_expected_tokens(at, expected, YYNTOKENS);
    if (n < 0) n = 0;
    for (int i = 0; i < n; i++) kinds[i] = (int)expected[i];
    syntax_error(p, (int)yypcontext_token(at), *yypcontext_location(at), kinds, n, display_name);
    return 0;
}

/* With `parse.error custom` only the parser's own limits come here. */
static void tile_yyerror(const Span *span, Parser *p, const char *message) {
    (void)message;
    syntax_too_deep(p, *span, "nested too deeply", NESTING_LIMIT);
}
