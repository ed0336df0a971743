import argparse
import importlib
import sys
from wsgiref.simple_server import make_server

parser = argparse.ArgumentParser(prog="flask")
parser.add_argument("--app", default="app")
run = parser.add_subparsers(required=True).add_parser("run")
run.add_argument("--host", default="127.0.0.1")
run.add_argument("--port", type=int, default=5000)
options = parser.parse_args()

sys.path.insert(0, "")
make_server(options.host, options.port, importlib.import_module(options.app).app).serve_forever()
