#!/usr/bin/env bash
# Makes the Python environment of the reference scripts. Usage: make_venv.sh FOLDER. Safe to call twice.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "Usage: make_venv.sh FOLDER (the environment is made there)." >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$1/bin/python" ] || python3 -m venv "$1"
"$1/bin/pip" install --quiet --no-deps --requirement "$here/requirements.txt"
"$1/bin/pip" check
"$1/bin/python" -c 'import mlx.core, mlx_lm; print("mlx", mlx.core.__version__, "mlx-lm", mlx_lm.__version__)'
