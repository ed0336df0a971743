import argparse
import importlib
import os
from wsgiref.simple_server import make_server


def execute_from_command_line(argv):
    parser = argparse.ArgumentParser(prog=argv[0])
    runserver = parser.add_subparsers(required=True).add_parser("runserver")
    runserver.add_argument("addrport", nargs="?", default="127.0.0.1:8000")
    runserver.add_argument("--noreload", action="store_true")
    host, port = parser.parse_args(argv[1:]).addrport.split(":")

    settings = importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"])
    views = dict(importlib.import_module(settings.ROOT_URLCONF).urlpatterns)

    def application(environ, start_response):
        view = views.get(environ["PATH_INFO"].removeprefix("/"))
        start_response("404 Not Found" if view is None else "200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [(view(environ).content if view else "Not found").encode()]

    make_server(host, int(port), application).serve_forever()
