"""Runs the attacks of a module in this process's namespace: inside.py MODULE BINARY FOLDER. Prints them as JSON."""
import dataclasses, importlib, json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import network

if __name__ == "__main__":
    module, binary, folder = sys.argv[1:]
    network.set_up()
    for attempt in importlib.import_module(module).attack(binary, pathlib.Path(folder)):
        print(json.dumps(dataclasses.asdict(attempt)), flush=True)
