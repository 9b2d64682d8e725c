// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// client.js: a process that speaks JSON-RPC on its standard streams, framed as LSP has it: requests become
// promises, notifications go to whom they are for.
"use strict";
const { spawn } = require("child_process");

class Client {
    /** command: its words. notified(method, params); ended(text) once, with why. */
    constructor(command, notified, ended) {
        this.last = 0;
        this.waiting = new Map();
        this.bytes = Buffer.alloc(0);
        this.notified = notified;
        this.errors = "";
        this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
        this.process.stdout.on("data", (data) => this.read(data));
        this.process.stderr.on("data", (data) => (this.errors = (this.errors + data).slice(-2000)));
        this.process.stdin.on("error", () => {}); // the end is told once, below
        const end = (why) => {
            if (!this.process) return;
            this.process = null;
            for (const [, wait] of this.waiting) wait.reject(new Error(why));
            this.waiting.clear();
            ended(this.errors.trim() || why);
        };
        this.process.on("error", (error) => end(`${command[0]}: ${error.message}`));
        this.process.on("close", (code, signal) => end(`${command[0]} has ended: ${signal || `exit code ${code}`}`));
    }

    send(message) {
        if (!this.process) return;
        const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
        this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
        this.process.stdin.write(body);
    }

    notify(method, params) {
        this.send({ method, params });
    }

    /** token: of VS Code, to cancel it by; or nothing. */
    request(method, params, token) {
        if (!this.process) return Promise.reject(new Error("tilec is not running"));
        const id = ++this.last;
        const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
        if (token) token.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
        this.send({ id, method, params });
        return answer;
    }

    read(data) {
        this.bytes = Buffer.concat([this.bytes, data]);
        for (;;) {
            const end = this.bytes.indexOf("\r\n\r\n");
            if (end < 0) return;
            const length = Number(/content-length: *(\d+)/i.exec(this.bytes.toString("latin1", 0, end))[1]);
            if (this.bytes.length < end + 4 + length) return;
            const message = JSON.parse(this.bytes.toString("utf8", end + 4, end + 4 + length));
            this.bytes = this.bytes.subarray(end + 4 + length);
            this.take(message);
        }
    }

    take(message) {
        if (message.method) {
            this.notified(message.method, message.params);
            return;
        }
        const wait = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (!wait) return;
        if (message.error) wait.reject(new Error(message.error.message));
        else wait.resolve(message.result);
    }

    /** As the protocol ends: shutdown, then exit. */
    async stop() {
        if (!this.process) return;
        await this.request("shutdown").catch(() => {});
        this.notify("exit");
    }
}

module.exports = { Client };
