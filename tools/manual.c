/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* manual.c: the description of a program -> help text, a troff manual page, or a completion script
 * (see manual.h). */
#include "tools/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_heading(const OptionRow *r) {
    return !r->long_name && !r->short_name;
}

static bool takes_file(const OptionRow *r) {
    return r->arg && strstr(r->arg, "FILE");
}

static const char *words_of(const Manual *m, const OptionRow *r) {
    for (int i = 0; i < m->nwords; i++)
        if (m->words[i].id == r->id) return m->words[i].words;
    return NULL;
}

/* ---- --help ---- */

static bool print_help(FILE *out, const Manual *m) {
    fprintf(out, "%s %s.\n\nUsage: %s %s\n\n%s\n", m->name, m->summary, m->name, m->synopsis,
            m->about);
    option_print_help(out, m->row, m->nrows);
    fputc('\n', out);
    m->more(out);
    return true;
}

/* ---- the manual page ---- */

/* A line of text: troff would read a backslash, a '-' and a '.' or '\'' in front as its own. */
static void troff_text(FILE *out, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i == 0 && (s[i] == '.' || s[i] == '\'')) fputs("\\&", out);
        if (s[i] == '\\')
            fputs("\\e", out);
        else if (s[i] == '-')
            fputs("\\-", out);
        else
            fputc(s[i], out);
    }
}

/* Lines after `between` each, as a help text has them. */
static void troff_lines(FILE *out, const char *s, const char *between) {
    for (bool first = true; *s; first = false) {
        size_t n = strcspn(s, "\n");
        if (!first) fputs(between, out);
        troff_text(out, s, n);
        fputc('\n', out);
        s += n + (s[n] == '\n');
    }
}

static void troff_paragraphs(FILE *out, const char *s) {
    bool verbatim = false;
    while (*s) {
        size_t n = strcspn(s, "\n");
        bool indented = n > 0 && s[0] == ' ';
        if (indented != verbatim) fputs(indented ? ".nf\n" : ".fi\n", out);
        verbatim = indented;
        if (n == 0)
            fputs(".PP", out);
        else
            troff_text(out, s, n);
        fputc('\n', out);
        s += n + (s[n] == '\n');
    }
    if (verbatim) fputs(".fi\n", out);
}

static void troff_option(FILE *out, const OptionRow *r) {
    fputs(".TP\n", out);
    if (r->short_name) fprintf(out, "\\fB\\-%c\\fR", r->short_name);
    if (r->short_name && r->long_name) fputs(", ", out);
    if (r->long_name) {
        fputs("\\fB", out);
        troff_text(out, option_dashes(r), strlen(option_dashes(r)));
        troff_text(out, r->long_name, strlen(r->long_name));
        fputs("\\fR", out);
    }
    if (r->arg) {
        fprintf(out, "%s\\fI", option_equals(r));
        troff_text(out, r->arg, strlen(r->arg));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    troff_lines(out, r->help, ".br\n");
}

static bool print_man(FILE *out, const Manual *m) {
    char *more = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&more, &size);
    if (!memory) return false;
    m->more(memory);
    if (fclose(memory) != 0) {
        free(more);
        return false;
    }
    fputs(".\\\" -*- coding: UTF-8 -*-\n.TH ", out);
    for (const char *c = m->name; *c; c++) fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"\" \"tilec " TILE_VERSION "\" \"User Commands\"\n.SH NAME\n%s \\- ",
            m->name);
    troff_lines(out, m->summary, "");
    fprintf(out, ".SH SYNOPSIS\n.B %s\n", m->name);
    troff_lines(out, m->synopsis, "");
    fputs(".SH DESCRIPTION\n", out);
    troff_paragraphs(out, m->about);
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; i < m->nrows; i++) {
        const OptionRow *r = &m->row[i];
        if (is_heading(r)) {
            size_t n = strlen(r->help);
            fprintf(out, ".SS %.*s\n", (int)(n && r->help[n - 1] == ':' ? n - 1 : n), r->help);
        } else {
            troff_option(out, r);
        }
    }
    fputs(".SH NOTES\n", out);
    troff_paragraphs(out, more);
    free(more);
    fprintf(out, ".SH SEE ALSO\n.BR %s (1)\n", m->see_also);
    return true;
}

/* ---- completion ---- */

/* A pattern of the option's spellings: "-o|--output". */
static void bash_pattern(FILE *out, const OptionRow *r) {
    if (r->short_name) fprintf(out, "-%c", r->short_name);
    if (r->short_name && r->long_name) fputc('|', out);
    if (r->long_name) fprintf(out, "%s%s", option_dashes(r), r->long_name);
}

/* bash gives `--name=value` as three words, so the option stands one or two words back. */
static bool print_bash(FILE *out, const Manual *m) {
    fprintf(out,
            "# Completion of %s for bash; made by `%s --manual=bash`.\n"
            "_%s() {\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} suffix\n"
            "    COMPREPLY=()\n"
            "    if [ \"$word\" = = ]; then word=\n"
            "    elif [ \"$option\" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
            "    case \"$option\" in\n",
            m->name, m->name, m->name);
    for (int i = 0; i < m->nrows; i++) {
        const OptionRow *r = &m->row[i];
        if (is_heading(r) || !r->arg) continue;
        const char *words = words_of(m, r);
        fputs("    ", out);
        bash_pattern(out, r);
        if (words)
            fprintf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", words);
        else if (takes_file(r))
            fputs(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", out);
        else
            fputs(") return ;;\n", out);
    }
    fputs("    esac\n"
          "    case \"$word\" in\n"
          "    -*) COMPREPLY=($(compgen -W '",
          out);
    const char *space = "";
    for (int i = 0; i < m->nrows; i++) {
        const OptionRow *r = &m->row[i];
        if (r->short_name) {
            fprintf(out, "%s-%c", space, r->short_name);
            space = " ";
        }
        if (r->long_name) {
            bool equals = r->arg && *option_equals(r) == '=';
            fprintf(out, "%s%s%s%s", space, option_dashes(r), r->long_name, equals ? "=" : "");
            space = " ";
        }
    }
    fprintf(out,
            "' -- \"$word\"))\n"
            "        case \"${COMPREPLY[0]}\" in *=) compopt -o nospace 2>/dev/null ;; esac ;;\n"
            "    *) COMPREPLY=($(compgen -d -S / -- \"$word\"))\n"
            "        [ ${#COMPREPLY[@]} -eq 0 ] || compopt -o nospace 2>/dev/null\n"
            "        for suffix in %s; do\n"
            "            COMPREPLY+=($(compgen -f -X \"!*.$suffix\" -- \"$word\"))\n"
            "        done ;;\n"
            "    esac\n"
            "}\n"
            "complete -F _%s %s\n",
            m->suffixes, m->name, m->name);
    return true;
}

/* A help text within '…[…]': one line, with what zsh reads as its own escaped. */
static void zsh_text(FILE *out, const char *s) {
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *s))
            fprintf(out, "\\%c", *s);
        else
            fputc(*s == '\n' ? ' ' : *s, out);
    }
}

static void zsh_option(FILE *out, const Manual *m, const OptionRow *r, bool long_form) {
    fputs("    '*", out);
    if (long_form)
        fprintf(out, "%s%s%s", option_dashes(r), r->long_name,
                r->arg && *option_equals(r) == '=' ? "=" : "");
    else
        fprintf(out, "-%c%s", r->short_name, r->arg ? "+" : "");
    fputc('[', out);
    zsh_text(out, r->help);
    fputc(']', out);
    if (r->arg) {
        const char *words = words_of(m, r);
        fputc(':', out);
        zsh_text(out, r->arg);
        if (words)
            fprintf(out, ":(%s)", words);
        else
            fputs(takes_file(r) ? ":_files" : ": ", out);
    }
    fputs("' \\\n", out);
}

static bool print_zsh(FILE *out, const Manual *m) {
    fprintf(
        out,
        "#compdef %s\n# Completion of %s for zsh; made by `%s --manual=zsh`.\n_arguments -s \\\n",
        m->name, m->name, m->name);
    for (int i = 0; i < m->nrows; i++) {
        const OptionRow *r = &m->row[i];
        if (r->short_name) zsh_option(out, m, r, false);
        if (r->long_name) zsh_option(out, m, r, true);
    }
    fputs("    '*:file:_files -g \"*.(", out);
    for (const char *c = m->suffixes; *c; c++) fputc(*c == ' ' ? '|' : *c, out);
    fputs(")\"'\n", out);
    return true;
}

bool manual_print(FILE *out, const Manual *m, const char *view) {
    static const struct {
        const char *name;
        bool (*print)(FILE *out, const Manual *m);
    } views[] = {
        {"help", print_help}, {"man", print_man}, {"bash", print_bash}, {"zsh", print_zsh}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(view, views[i].name) == 0) return views[i].print(out, m);
    return false;
}
