"""A stand-in for OpenAI's embeddings interface on 127.0.0.1, with failures on order."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

KEY = "sk-not-a-real-key-0123456789"


def vector(text, dimensions):
    """The embedding that the server gives a text: unit length, different for each text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    point = np.random.default_rng(seed).normal(size=dimensions)
    return point / np.linalg.norm(point)


class EmbeddingServer:
    """Answers like the interface, except for the replies in `script`, which come first.

    A reply is a number (an HTTP error), `(number, headers, body)`, "hang", "drop", or a function
    that changes the document of a good answer.
    """

    key = KEY
    vector = staticmethod(vector)

    def __init__(self):
        self.script = []
        self.requests = []
        self.headers = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.answer(self)

            def do_GET(self):
                outer.headers.append(self.headers)
                send(self, 200, {}, b"{}")

            def log_message(self, *arguments):
                """Keep standard error clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self):
        """Stop serving, if that has not happened yet."""
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler):
        """Record a request and give the next reply."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append((handler.path, body))
        self.headers.append(handler.headers)
        reply = self.script.pop(0) if self.script else None
        if reply == "hang":
            time.sleep(3.0)
        elif reply == "drop":
            handler.close_connection = True
        elif isinstance(reply, int):
            send(handler, reply, {}, b'{"error": {"message": "on order"}}')
        elif isinstance(reply, tuple):
            send(handler, *reply)
        else:
            document = good_answer(body)
            send(handler, 200, {}, json.dumps(reply(document) if reply else document).encode())

    @property
    def texts(self):
        """The texts of each request."""
        return [body["input"] for _, body in self.requests]


def good_answer(body):
    """What the interface answers; in reverse order, for the order is not promised."""
    entries = [
        {
            "object": "embedding",
            "index": index,
            "embedding": vector(text, body["dimensions"]).tolist(),
        }
        for index, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": entries[::-1], "model": body["model"], "usage": {}}


def send(handler, status, headers, body):
    """Send a reply."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def embedding_server(monkeypatch):
    """A function that starts a server; the last one started is where requests go."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers = []

    def start():
        servers.append(EmbeddingServer())
        monkeypatch.setenv("OPENAI_BASE_URL", servers[-1].url)
        return servers[-1]

    yield start
    for server in servers:
        server.close()
