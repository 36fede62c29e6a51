#!/bin/sh
# The storage suite on three servers: the embedded one, a PostgreSQL installed on this machine, and that one behind PgBouncer in
# transaction mode. Called by `make test-postgres` (PYTHON: the interpreter; arguments go to pytest). On Debian:
#   apt-get install postgresql-15 pgbouncer
# PG_BIN and PGBOUNCER name other programs, ONLY one leg: embedded, postgres or pgbouncer.
set -eu

PYTHON=${PYTHON:-python3}
PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
PGBOUNCER=${PGBOUNCER:-/usr/sbin/pgbouncer}
ONLY=${ONLY:-embedded postgres pgbouncer}
SUITE="tests/storage tests/database --ignore=tests/storage/embedded"

cd "$(dirname "$0")/.."
for program in "$PG_BIN/initdb" "$PG_BIN/pg_ctl" "$PGBOUNCER"; do
    test -x "$program" || { echo "$program is not installed (see the head of $0)" >&2; exit 1; }
done

# Both servers refuse root: as root they run as the account that came with the package.
base=/dev/shm # where syncing is free
test -w "$base" || base=/tmp
folder=$(mktemp -d "$base/ledger-matrix-XXXXXX")
if [ "$(id -u)" = 0 ]; then
    account=postgres
    chown postgres "$folder"
    as() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
else
    account=$(id -un)
    as() { "$@"; }
fi

failed=
finish() {
    if [ -f "$folder/bouncer/pid" ]; then kill "$(cat "$folder/bouncer/pid")" 2>/dev/null || true; fi
    if [ -f "$folder/data/postmaster.pid" ]; then as "$PG_BIN/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null || true; fi
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

leg() { # name, app URL, admin URL, pytest's arguments…
    name=$1; app=$2; admin=$3; shift 3
    case " $ONLY " in *" $name "*) ;; *) return 0 ;; esac
    echo "== $name"
    # shellcheck disable=SC2086 # the suite is several words
    CONTEXT_LEDGER_TEST_DATABASE_URL=$app CONTEXT_LEDGER_TEST_MIGRATE_DATABASE_URL=$admin "$PYTHON" -m pytest -q $SUITE "$@" || failed="$failed $name"
}

leg embedded "" "" "$@"

mkdir "$folder/bouncer"
as "$PG_BIN/initdb" -D "$folder/data" -U ledger_admin -E UTF8 --locale=C -A trust >/dev/null
as "$PG_BIN/pg_ctl" -D "$folder/data" -l "$folder/log" -w -o "-c listen_addresses='' -c unix_socket_directories=$folder -c max_connections=200" start >/dev/null
as "$PG_BIN/psql" -q -h "$folder" -U ledger_admin -d postgres -c "CREATE ROLE ledger_app LOGIN"
admin="postgresql://ledger_admin@/postgres?host=$folder"
leg postgres "postgresql://ledger_app@/postgres?host=$folder" "$admin" "$@"

printf '"ledger_app" ""\n' >"$folder/bouncer/users"
cat >"$folder/bouncer/ini" <<INI
[databases]
* = host=$folder port=5432
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $folder/bouncer
logfile = $folder/bouncer/log
pidfile = $folder/bouncer/pid
auth_type = trust
auth_file = $folder/bouncer/users
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
INI
chown -R "$account" "$folder/bouncer"
as "$PGBOUNCER" -q -d "$folder/bouncer/ini"
leg pgbouncer "postgresql://ledger_app@/postgres?host=$folder/bouncer&port=6432" "$admin" "$@"
test -z "$failed" || { echo "failed on:$failed" >&2; exit 1; }
