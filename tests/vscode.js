// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vscode.js TILEC: editors/vscode/extension.js with what it uses of VS Code made here: a document is opened, mistaken,
// asked about and closed; a server that ends is there again; a command that does not exist is told.
"use strict";
const Module = require("module");
const fs = require("fs");
const os = require("os");
const path = require("path");
const tilec = path.resolve(process.argv[2]);
const handlers = {}, providers = {}, commands = {}, published = new Map(), told = [], documents = [];
const config = { command: [tilec, "--lsp", "-Wno-perf"], python: false };

class Plain {
    constructor(...args) { this.args = args; }
}
class Range {
    constructor(a, b, c, d) { this.start = { line: a, character: b }; this.end = { line: c, character: d }; }
}
const uri = (text) => ({ toString: () => text });
const on = (name) => (handler) => { handlers[name] = handler; return {}; };
const register = (name) => (selector, provider) => { providers[name] = provider; return {}; };
const vscode = {
    Range,
    Location: Plain, Hover: Plain, MarkdownString: Plain, DocumentHighlight: Plain, DocumentSymbol: Plain, CompletionItem: Plain,
    SignatureHelp: class {}, SignatureInformation: Plain, ParameterInformation: Plain, Diagnostic: Plain,
    DiagnosticRelatedInformation: Plain,
    Uri: { parse: uri },
    commands: { registerCommand: (name, run) => { commands[name] = run; return {}; } },
    window: { showErrorMessage: (text) => told.push(text) },
    workspace: {
        textDocuments: documents,
        getConfiguration: () => ({ get: (name) => config[name] }),
        onDidOpenTextDocument: on("open"), onDidChangeTextDocument: on("change"), onDidCloseTextDocument: on("close"),
        onDidSaveTextDocument: on("save"), onDidChangeConfiguration: on("configuration"),
    },
    languages: {
        createDiagnosticCollection: () => ({
            set: (u, d) => published.set(u.toString(), d), delete: (u) => published.delete(u.toString()), clear: () => published.clear(),
        }),
        registerHoverProvider: register("hover"), registerDefinitionProvider: register("definition"),
        registerReferenceProvider: register("references"), registerDocumentHighlightProvider: register("highlights"),
        registerDocumentSymbolProvider: register("symbols"), registerCompletionItemProvider: register("completion"),
        registerSignatureHelpProvider: register("signature"),
    },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require("../editors/vscode/extension.js");

let passed = 0, failed = 0;
function check(what, good, got) {
    if (good) passed++;
    else failed++, console.log(`FAIL ${what}: ${JSON.stringify(got)}`);
}

/** Waits for what the server is to do. */
async function until(what, holds) {
    for (let i = 0; i < 600 && !holds(); i++) await new Promise((go) => setTimeout(go, 20));
    check(what, holds(), [...published]);
}

const name = "file:///kernels/kernel.tl";
const lines = ["import triton", "import triton.language as tl", "", "", "@triton.jit", 'def k(p: "*fp32"):', "    x = tl.load(p)",
    "    tl.store(p, y)", ""];
const document = (text, languageId = "tile") => ({ uri: uri(name), languageId, version: 1, getText: () => text });
const at = (line, character) => ({ line, character });

async function main() {
    const context = { subscriptions: [] };
    let d = document(lines.join("\n"));
    documents.push(d);
    extension.activate(context);
    await until("diagnostics of what is open", () => published.has(name) && published.get(name).length === 1);
    const [range, message, severity] = published.get(name)[0].args;
    check("its place and words", range.start.line === 7 && range.start.character === 16 && message.includes("'y' is not defined") &&
        severity === 0, published.get(name));
    handlers.change({ document: d, contentChanges: [{ range: new Range(7, 16, 7, 17), text: "x" }] });
    await until("a change mends it", () => published.get(name).length === 0);
    const hover = await providers.hover.provideHover(d, at(6, 4));
    check("hover", hover.args[0].args[0].includes("(variable) x: fp32"), hover);
    const definition = await providers.definition.provideDefinition(d, at(7, 16));
    check("definition", definition.args[0].toString() === name && definition.args[1].start.line === 6, definition);
    const references = await providers.references.provideReferences(d, at(6, 4), { includeDeclaration: true });
    check("references", references.length === 2, references);
    check("highlights", (await providers.highlights.provideDocumentHighlights(d, at(6, 4))).length === 2);
    const symbols = await providers.symbols.provideDocumentSymbols(d);
    check("symbols", symbols.length === 1 && symbols[0].args[0] === "k" && symbols[0].children.length === 1, symbols);
    const items = await providers.completion.provideCompletionItems(d, at(6, 11));
    check("completion", items.some((i) => i.args[0] === "load"), items.length);
    const help = await providers.signature.provideSignatureHelp(d, at(6, 16));
    check("signature", help.signatures[0].args[0].startsWith("tl.load(pointer"), help);
    check("there is nothing", (await providers.hover.provideHover(d, at(2, 0))) === undefined);

    handlers.save(d);
    d = document(lines.join("\n"));
    documents[0] = d;
    const starts = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "tilec-")), "starts");
    config.command = ["sh", "-c", `echo >>'${starts}'; [ $(wc -l <'${starts}') -gt 1 ] || exit 3; exec '${tilec}' --lsp`];
    await commands["tilec.restart"]();
    const count = () => fs.readFileSync(starts, "utf8").length;
    await until("a server that ends is there again", () => published.has(name) && published.get(name).length === 1 && count() >= 2);
    await new Promise((go) => setTimeout(go, 300));
    check("and once only", count() === 2, count());
    fs.rmSync(path.dirname(starts), { recursive: true });
    handlers.close(d);
    check("closed", !published.has(name));
    documents.length = 0;

    const python = document(lines.join("\n"), "python");
    handlers.open(python);
    check("Python is not asked for", (await providers.hover.provideHover(python, at(6, 4))) === undefined);
    config.python = true;
    config.command = [tilec, "--lsp"];
    documents.push(python);
    await handlers.configuration({ affectsConfiguration: () => true });
    await until("and where it is, it is served", () => published.has(name) && published.get(name).length === 1);

    config.command = ["/no/such/tilec"];
    await commands["tilec.restart"]();
    await until("a command that is not there is told", () => told.some((t) => t.includes("/no/such/tilec") && t.includes("tilec.command")));
    await extension.deactivate();
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}
main();
