"""`python -m tests.memory_of_decoding FOLDER`: the most memory that decoding its files takes.

All files are in flight at once, as a replica's would be. Prints MiB above what this process had
before it read the first file: of itself and all decoder processes together, looked at all the time.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from worker.families import Family
from worker.pictures import Decoders, Limits

LOOK_S = 0.02
FAMILY = Family(28, 3136, 1280 * 28 * 28, "model_pixels")
MIB = 1 << 20


class Watch(threading.Thread):
    """Looks at the resident memory of this process and its children until told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ended = threading.Event()
        self._before = psutil.Process().memory_info().rss
        self.most_mib = 0.0

    def run(self) -> None:
        """Keep the most."""
        me = psutil.Process()
        while not self._ended.wait(LOOK_S):
            total = sum(_resident(each) for each in (me, *me.children(recursive=True)))
            self.most_mib = max(self.most_mib, (total - self._before) / MIB)

    def stop(self) -> float:
        """The most, in MiB."""
        self._ended.set()
        self.join()
        return self.most_mib


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def main() -> None:
    """Decode, and print what it took."""
    paths = sorted(Path(sys.argv[1]).iterdir())
    decoders, watch = Decoders(8), Watch()
    watch.start()
    with ThreadPoolExecutor(len(paths)) as threads:
        done = threads.map(
            lambda path: decoders.prepare(path.read_bytes(), FAMILY, Limits()), paths
        )
        sizes = [frame.image.size for frames in done for frame in frames]
    most_mib = watch.stop()
    decoders.close()
    print(json.dumps({"most_mib": round(most_mib), "prepared": len(sizes), "sizes": sizes[:1]}))


if __name__ == "__main__":
    main()
