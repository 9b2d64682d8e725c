/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_artefact.h: outputs that take more than one call of tile_compile: headers, launchers
 * and cubins. */
#ifndef TILE_TOOLS_TILEC_ARTEFACT_H
#define TILE_TOOLS_TILEC_ARTEFACT_H

#include "tools/messages.h"

typedef struct ArtefactOptions {
    const Messages *messages;
    tile_compile_options compile; /* of one input; emit is chosen here */
    const char *variants;         /* --variants, or NULL */
    tile_tuning *tuning;          /* --tuning, or NULL */
    const char *tuning_file;      /* its name */
    const char *targets; /* --target: several with commas between them; NULL: the default */
    const char *embed;   /* --embed; NULL: "ptx,tir", of a launcher "ptx" */
} ArtefactOptions;

typedef struct Artefact { /* malloc'ed texts, or NULL */
    char *text, *header;
    size_t len, header_len;
} Artefact;

/* A launcher: a C file, and its header, by whose file's name the other includes it. Prints what
 * there is to say on stderr. */
tile_status artefact_launcher(const ArtefactOptions *a, const char *name, Artefact *out);
/* Both print what there is to say on stderr and give the text in *text, malloc'ed, *len bytes. */
tile_status artefact_header(const ArtefactOptions *a, char **text, size_t *len);
/* The PTX in the compilation's output -> a cubin with the manifest behind it. */
tile_status artefact_cubin(const Messages *m, const char *ptx, size_t ptx_len, char **text,
                           size_t *len);

#endif
