// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// extension.js: VS Code and `tilec --lsp`: documents and their changes to the server, its diagnostics and answers to
// VS Code. It needs no package but VS Code's own.
"use strict";
const vscode = require("vscode");
const { Client } = require("./client");

const RESTARTS = 4; // in a row, of a server that ends by itself

const toRange = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const toLocation = (l) => new vscode.Location(vscode.Uri.parse(l.uri), toRange(l.range));
const fromPosition = (p) => ({ line: p.line, character: p.character });
const fromRange = (r) => ({ start: fromPosition(r.start), end: fromPosition(r.end) });

const settings = () => vscode.workspace.getConfiguration("tilec");
const importsTriton = (document) => /^(import|from)\s+triton\b/m.test(document.getText().slice(0, 20000));

/** Is the document one for tilec? */
function served(document) {
    if (document.languageId === "tile" || document.languageId === "tir") return true;
    return document.languageId === "python" && settings().get("python") && importsTriton(document);
}

function toDiagnostic(d) {
    const out = new vscode.Diagnostic(toRange(d.range), d.message, d.severity - 1);
    out.source = d.source;
    out.relatedInformation = (d.relatedInformation || []).map(
        (r) => new vscode.DiagnosticRelatedInformation(toLocation(r.location), r.message));
    return out;
}

function toSymbol(s) {
    const out = new vscode.DocumentSymbol(s.name, s.detail || "", s.kind - 1, toRange(s.range), toRange(s.selectionRange));
    out.children = (s.children || []).map(toSymbol);
    return out;
}

function toItem(i) {
    const out = new vscode.CompletionItem(i.label, i.kind - 1);
    out.detail = i.detail;
    return out;
}

function toSignatures(help) {
    const out = new vscode.SignatureHelp();
    out.signatures = help.signatures.map((s) => {
        const one = new vscode.SignatureInformation(s.label);
        one.parameters = s.parameters.map((p) => new vscode.ParameterInformation(p.label));
        return one;
    });
    out.activeSignature = help.activeSignature;
    out.activeParameter = help.activeParameter;
    return out;
}

/** The server, and which documents it has. */
class Session {
    constructor() {
        this.diagnostics = vscode.languages.createDiagnosticCollection("tilec");
        this.opened = new Set();
        this.ends = 0;
        this.start();
    }

    start() {
        const now = () => this.client === client; // and not one that was told to end
        const client = new Client(settings().get("command"), (method, params) => now() && this.notified(method, params),
            (why) => now() && this.ended(why));
        this.client = client;
        this.opened.clear();
        this.stopping = false;
        this.client.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} }).then(() => {
            this.client.notify("initialized", {});
            vscode.workspace.textDocuments.forEach((d) => this.open(d));
        }, () => {}); // ended() tells why
    }

    ended(why) {
        this.diagnostics.clear();
        if (this.stopping) return;
        if (++this.ends <= RESTARTS) this.start();
        else vscode.window.showErrorMessage(`tilec: ${why}. The command is the setting tilec.command.`);
    }

    async stop() {
        this.stopping = true;
        await this.client.stop();
    }

    async restart() {
        await this.stop();
        this.ends = 0;
        this.start();
    }

    notified(method, params) {
        if (method === "textDocument/publishDiagnostics") {
            this.ends = 0;
            this.diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(toDiagnostic));
        } else if (method === "window/showMessage") {
            vscode.window.showErrorMessage(params.message);
        }
    }

    open(document) {
        const uri = document.uri.toString();
        if (this.opened.has(uri) || !served(document)) return;
        this.opened.add(uri);
        this.client.notify("textDocument/didOpen", {
            textDocument: { uri, languageId: document.languageId, version: document.version, text: document.getText() },
        });
    }

    change(event) {
        const uri = event.document.uri.toString();
        if (!this.opened.has(uri)) return this.open(event.document);
        this.client.notify("textDocument/didChange", {
            textDocument: { uri, version: event.document.version },
            contentChanges: event.contentChanges.map((c) => ({ range: fromRange(c.range), text: c.text })),
        });
    }

    close(document) {
        const uri = document.uri.toString();
        if (!this.opened.delete(uri)) return;
        this.client.notify("textDocument/didClose", { textDocument: { uri } });
        this.diagnostics.delete(document.uri);
    }

    save(document) {
        if (this.opened.has(document.uri.toString()))
            this.client.notify("textDocument/didSave", { textDocument: { uri: document.uri.toString() } });
    }

    /** The answer as VS Code has it; nothing where the server has none, or does not know the document. */
    async ask(method, document, position, token, convert, more) {
        if (!this.opened.has(document.uri.toString())) return undefined;
        const params = { textDocument: { uri: document.uri.toString() }, ...more };
        if (position) params.position = fromPosition(position);
        const answer = await this.client.request(`textDocument/${method}`, params, token).catch(() => null);
        return answer ? convert(answer) : undefined;
    }
}

let session;

function activate(context) {
    session = new Session();
    const on = (...disposables) => context.subscriptions.push(...disposables);
    const selector = [{ language: "tile" }, { language: "tir" }, { language: "python" }];
    const languages = vscode.languages;
    on(session.diagnostics,
        vscode.workspace.onDidOpenTextDocument((d) => session.open(d)),
        vscode.workspace.onDidChangeTextDocument((e) => session.change(e)),
        vscode.workspace.onDidCloseTextDocument((d) => session.close(d)),
        vscode.workspace.onDidSaveTextDocument((d) => session.save(d)),
        vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("tilec") && session.restart()),
        vscode.commands.registerCommand("tilec.restart", () => session.restart()),
        languages.registerHoverProvider(selector, {
            provideHover: (d, p, token) => session.ask("hover", d, p, token,
                (h) => new vscode.Hover(new vscode.MarkdownString(h.contents.value), toRange(h.range))),
        }),
        languages.registerDefinitionProvider(selector, {
            provideDefinition: (d, p, token) => session.ask("definition", d, p, token, toLocation),
        }),
        languages.registerReferenceProvider(selector, {
            provideReferences: (d, p, context_, token) => session.ask("references", d, p, token,
                (all) => all.map(toLocation), { context: context_ }),
        }),
        languages.registerDocumentHighlightProvider(selector, {
            provideDocumentHighlights: (d, p, token) => session.ask("documentHighlight", d, p, token,
                (all) => all.map((h) => new vscode.DocumentHighlight(toRange(h.range), h.kind - 1))),
        }),
        languages.registerDocumentSymbolProvider(selector, {
            provideDocumentSymbols: (d, token) => session.ask("documentSymbol", d, null, token, (all) => all.map(toSymbol)),
        }),
        languages.registerCompletionItemProvider(selector, {
            provideCompletionItems: (d, p, token) => session.ask("completion", d, p, token, (all) => all.map(toItem)),
        }, "."),
        languages.registerSignatureHelpProvider(selector, {
            provideSignatureHelp: (d, p, token) => session.ask("signatureHelp", d, p, token, toSignatures),
        }, "(", ","));
}

function deactivate() {
    return session && session.stop();
}

module.exports = { activate, deactivate };
