"""Stands in for FastAPI: the part of its interface that the sample uses."""

import json


class FastAPI:
    def __init__(self):
        self.operations = {}

    def get(self, path):
        def register(operation):
            self.operations[path] = operation
            return operation

        return register

    async def __call__(self, scope, receive, send):
        operation = self.operations.get(scope["path"])
        body = {"detail": "Not Found"} if operation is None else await operation()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 404 if operation is None else 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})
