"""Stands in for Flask: the part of its interface that the sample uses."""


class Flask:
    def __init__(self, name):
        self.name = name
        self.views = {}

    def route(self, path):
        def register(view):
            self.views[path] = view
            return view

        return register

    def __call__(self, environ, start_response):
        view = self.views.get(environ["PATH_INFO"])
        start_response("404 NOT FOUND" if view is None else "200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [(view() if view else "Not found").encode()]
