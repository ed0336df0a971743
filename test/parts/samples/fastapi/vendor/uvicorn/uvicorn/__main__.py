import argparse
import asyncio
import importlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser(prog="uvicorn")
parser.add_argument("app")
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8000)
options = parser.parse_args()

sys.path.insert(0, "")
module, name = options.app.split(":")
app = getattr(importlib.import_module(module), name)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asyncio.run(app({"type": "http", "method": "GET", "path": self.path}, None, self.answer))

    async def answer(self, message):
        if message["type"] == "http.response.body":
            self.wfile.write(message["body"])
            return
        self.send_response(message["status"])
        for key, value in message["headers"]:
            self.send_header(key.decode(), value.decode())
        self.end_headers()


ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()
