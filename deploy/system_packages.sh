#!/bin/sh
# Programs that a few tests run for real. Installed where that needs no question, named where it does;
# a test whose program is missing says so and is skipped.
set -eu
missing=""
command -v promtool >/dev/null 2>&1 || missing="$missing prometheus"
# Debian keeps the server's programs off the path, by version.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing system packages for tests:$missing"
    # A daemon is not wanted, only its programs: the tests start their own.
    guard=/usr/sbin/policy-rc.d
    [ -e "$guard" ] && guard="" || { printf '#!/bin/sh\nexit 101\n' >"$guard" && chmod +x "$guard"; }
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        >/dev/null 2>&1 || echo "Could not install$missing; the tests that need it are skipped"
    [ -z "$guard" ] || rm -f "$guard"
else
    echo "Not installed:$missing (Debian, Ubuntu: apt-get install$missing); the tests that need it are skipped"
fi
