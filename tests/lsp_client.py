# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lsp_client.py: an editor for tests of `tilec --lsp`: messages there and back, places in a text as positions."""
import json
import subprocess
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent


class Client:
    """One session with a server."""

    def __init__(self, binary, *options, start=True):
        self.process = subprocess.Popen([binary / "tilec", "--lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=ROOT)
        self.last, self.version, self.notes = 0, 0, []
        if start:
            self.capabilities = self.ask("initialize", processId=None, rootUri=None, capabilities={})["capabilities"]
            self.tell("initialized")

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message, ensure_ascii=False).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        length = None
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            length = int(value) if name == b"Content-Length" else length
        if length is None:
            raise EOFError(self.process.stderr.read().decode()[-3000:])
        message = json.loads(self.process.stdout.read(length))
        assert message["jsonrpc"] == "2.0"
        return message

    def start(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def answer(self, number):
        while (message := self.receive()).get("id", ...) != number:
            self.notes.append(message)
        return message

    def request(self, method, **params):
        return self.answer(self.start(method, **params))

    def ask(self, method, **params):
        message = self.request(method, **params)
        if "error" in message:
            raise AssertionError(f"{method}: {message}")
        return message["result"]

    def code(self, method, **params):
        return self.request(method, **params).get("error", {}).get("code")

    def tell(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def published(self, uri, version=None):
        """The diagnostics of the document, of that version."""
        while True:
            for i, message in enumerate(self.notes):
                params = message.get("params", {})
                if message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri and \
                        (version is None or params.get("version") == version):
                    of_others = [m for m in self.notes[:i] if m.get("params", {}).get("uri") != uri]
                    self.notes[:i + 1] = of_others
                    return params["diagnostics"]
            self.notes.append(self.receive())

    def open(self, uri, text):
        self.version += 1
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "tile", "version": self.version, "text": text})
        return self.published(uri, self.version)

    def change(self, uri, *changes):
        self.version += 1
        self.tell("textDocument/didChange", textDocument={"uri": uri, "version": self.version}, contentChanges=list(changes))
        return self.published(uri, self.version)

    def close(self, uri):
        self.tell("textDocument/didClose", textDocument={"uri": uri})
        return self.published(uri)

    def end(self):
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(60)


def uri_of(path):
    return "file://" + quote(str(path))


def position(text, offset):
    """Of the offset, in code points, of the text: UTF-16 units."""
    line = text.rfind("\n", 0, offset) + 1
    return {"line": text.count("\n", 0, offset), "character": len(text[line:offset].encode("utf-16-le")) // 2}


def place(uri, text, word, nth=0, into=0):
    """params for the nth place of the word, `into` it."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(word, offset + 1)
    return {"textDocument": {"uri": uri}, "position": position(text, offset + into)}


def word_at(text, span):
    line = text.split("\n")[span["start"]["line"]].encode("utf-16-le")
    return line[2 * span["start"]["character"]:2 * span["end"]["character"]].decode("utf-16-le")
