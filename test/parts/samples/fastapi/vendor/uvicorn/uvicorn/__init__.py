"""Stands in for Uvicorn: it runs an ASGI application behind the HTTP server of Python."""
