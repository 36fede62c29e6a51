#!/bin/sh
# Writes the one login that the bouncer knows, in memory, and becomes the bouncer.
set -eu
: "${LEDGER_APP_PASSWORD:?the password of the role ledger_app}"
case $LEDGER_APP_PASSWORD in *[!A-Za-z0-9._~-]*) echo "the password may hold letters, digits and . _ ~ - alone: it also stands in a URL" >&2; exit 2 ;; esac
umask 077
printf '"ledger_app" "%s"\n' "$LEDGER_APP_PASSWORD" > /tmp/userlist.txt
unset LEDGER_APP_PASSWORD
exec pgbouncer /etc/pgbouncer/pgbouncer.ini
