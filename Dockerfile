# docker build -t meka . && docker run --init -p 127.0.0.1:8080:8080 -e MEKA_API_TOKEN \
#     -v meka-config:/meka/config -v meka-data:/meka/data -v "$PWD:/meka/work" \
#     --security-opt seccomp=unconfined --security-opt systempaths=unconfined meka
#
# The two security options let bubblewrap make namespaces; see docs/serving.md, "In a container".

FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/meka
COPY requirements.txt ./
RUN /opt/meka/bin/pip install --require-hashes -r requirements.txt
COPY pyproject.toml README.md openapi.yaml ./
COPY meka ./meka
COPY handlers ./handlers
RUN /opt/meka/bin/pip install --no-deps .

FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates curl git \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --home-dir /meka/work --no-create-home --shell /usr/sbin/nologin meka \
    && install -d -o meka -g meka -m 0700 /meka /meka/config /meka/data /meka/work
COPY --from=build /opt/meka /opt/meka
ENV PATH=/opt/meka/bin:$PATH PYTHONUNBUFFERED=1 \
    HOME=/meka/work MEKA_CONFIG_DIR=/meka/config MEKA_DATA_DIR=/meka/data
USER meka
WORKDIR /meka/work
VOLUME ["/meka/config", "/meka/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:8080/v1/health/live"]
ENTRYPOINT ["meka"]
CMD ["serve", "--bind", "0.0.0.0:8080", "-v"]
