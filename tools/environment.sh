# Sourced by ./lycosa and ./test. In: $root, the checkout; $kind, run or dev. Out: $env, an environment that is up to date.
# An environment is up to date when its stamp names this checkout, this pyproject.toml and these constraints.

stamp="$root $(cat "$root/pyproject.toml" "$root/tools/constraints.txt" | cksum)"

current() {
    [ -x "$1/bin/python" ] && [ "$(cat "$1/lycosa-$kind" 2>/dev/null)" = "$stamp" ]
}

env=$root/.venv
if ! current "$env" && [ ! -w "$root" ]; then
    # A read-only checkout; the number keeps several of them apart.
    env=${XDG_CACHE_HOME:-$HOME/.cache}/lycosa/$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
fi

if ! current "$env"; then
    python=
    for candidate in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        echo "lycosa: needs Python 3.11 or newer; install one, or say where it is: PYTHON=/path/to/python3 $0" >&2
        exit 1
    fi
    "$python" "$root/tools/environment.py" "$root" "$env" "$kind" "$stamp" || exit 1
fi
