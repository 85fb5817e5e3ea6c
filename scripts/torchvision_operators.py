"""Set-up: let a torchvision that was built for another torch be imported. Run once, after pip.

PyPI's torchvision is built for CUDA. Beside a CPU build of torch its compiled operators can't be
loaded, and `import torchvision` fails with "operator torchvision::nms does not exist", because it
describes shapes of operators that nobody has declared. Zeroshift uses none of them, but
transformers and vLLM import the package, in processes of their own too; so the declarations are
put into the installed package itself. Where torchvision imports, this changes nothing.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

SYMPTOM = "operator torchvision::nms does not exist"
DECLARATIONS = """\
# Declared by Zeroshift's set-up: this torchvision was built for another torch.
import torch.library as _library

_operators = _library.Library("torchvision", "FRAGMENT")
_operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

"""


def main() -> int:
    problem = _import_problem()
    if SYMPTOM in problem:
        path = _registrations()
        path.write_text(DECLARATIONS + path.read_text())
        print(f"declared torchvision's operators in {path}")
        problem = _import_problem()
    if problem:
        print(f"torchvision can't be imported: {problem.strip().splitlines()[-1]}", file=sys.stderr)
    return 1 if problem else 0


def _import_problem() -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import torchvision"], capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def _registrations() -> Path:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise SystemExit("torchvision is not installed; it is in requirements.lock")
    return Path(spec.origin).parent / "_meta_registrations.py"


if __name__ == "__main__":
    sys.exit(main())
