"""A parent to be killed: it has a decoder work, prints its process id, and waits to be ended."""

import io
import sys
import threading

from PIL import Image

from tests.evil_families import SMALL, Evil
from worker.pictures import Decoders, Limits


def main() -> None:
    """With `hang`, the decoder hangs, and its alarm comes after some seconds; else it is idle."""
    file = io.BytesIO()
    Image.new("RGB", (66, 40)).save(file, "PNG")
    pool = Decoders(1)
    pool.prepare(file.getvalue(), SMALL, Limits())
    if sys.argv[1] == "hang":
        hanging = (file.getvalue(), Evil("hang"), Limits(decode_s=0.5))
        threading.Thread(target=pool.prepare, args=hanging).start()
    print(pool.pids[0], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
