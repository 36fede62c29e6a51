# Two images: `service` (the last, so the default) and `pgbouncer`. Building needs the package indexes; running needs no network beyond the database and the upstreams.

FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /src
# What changes rarely first: the layer with the dependencies is made again only when the lock changes.
COPY requirements.lock ./
RUN pip install --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY migrations ./migrations
COPY app ./app
RUN pip install --no-index --no-deps --no-build-isolation .

FROM debian:bookworm-slim AS pgbouncer
# Transaction mode as Debian ships it: no prepared statements through the bouncer, which the service does not need.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends pgbouncer=1.18.* \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10002 --no-create-home bouncer
COPY --chmod=0644 docs/deploy/pgbouncer.ini /etc/pgbouncer/pgbouncer.ini
COPY --chmod=0755 docs/deploy/pgbouncer.sh /usr/local/bin/start-pgbouncer
USER 10002
EXPOSE 6432
HEALTHCHECK --interval=5s --timeout=3s --retries=10 CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/6432"]
ENTRYPOINT ["/usr/local/bin/start-pgbouncer"]

FROM python:3.13-slim-bookworm AS service
RUN groupadd --system --gid 10001 ledger \
    && useradd --system --uid 10001 --gid ledger --no-create-home --home-dir /data ledger \
    && install --directory --owner=ledger --group=ledger --mode=0700 /data
COPY --from=build /opt/venv /opt/venv
# Outside of this machine's loopback the service asks for keys. Without a database URL it keeps an embedded Postgres in /data.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CONTEXT_LEDGER_HOST=0.0.0.0 \
    CONTEXT_LEDGER_PORT=8080 \
    CONTEXT_LEDGER_AUTH=keys \
    CONTEXT_LEDGER_DATA_DIR=/data
WORKDIR /data
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=60s --start-interval=1s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['CONTEXT_LEDGER_PORT'] + '/readyz', timeout=3)"]
ENTRYPOINT ["context-ledger"]
CMD ["serve"]
