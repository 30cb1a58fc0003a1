"""Makes a virtual environment with what requirements.txt lists. Usage: wheels.py FOLDER. Does nothing where that is done."""

import pathlib
import shutil
import subprocess
import sys
import venv

wanted = pathlib.Path(__file__).with_name("requirements.txt")
folder = pathlib.Path(sys.argv[1])
done = folder / "installed.txt"
if not (done.exists() and done.read_text() == wanted.read_text()):
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted], check=True)
    done.write_text(wanted.read_text())
