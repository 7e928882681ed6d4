from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.drive import called


def call(name: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-I", called.__file__, name], input=data, capture_output=True, check=False)


def test_a_function_of_a_file_is_given_bytes_and_what_it_prints_is_no_reply(tmp_path: Path) -> None:
    file = tmp_path / "work.py"
    file.write_text(
        "class Tools:\n    @staticmethod\n    def back(data):\n        print('seen')\n        return data[::-1]\n"
    )
    done = call(f"{file}:Tools.back", b"abc")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"cba", b"seen\n")


def test_a_function_of_a_module_and_one_that_is_not_there() -> None:
    assert called.find("base64:b64encode")(b"x") == b"eA=="
    gone = call("base64:nothing", b"")
    assert gone.returncode == 1 and b"nothing" in gone.stderr.splitlines()[-1]
