# An image of `capfst serve`: docker build -t capfst . && docker run -p 8000:8000 capfst
# .ci/container.py takes the same steps without Docker.

FROM python:3.13-slim AS build
# The package archive keeps no old versions to pin.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# Kernels for all processors, because the image may run on another machine.
ENV CAPFST_LEVELS=all
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .
RUN python -m venv --without-pip /opt/capfst \
    && pip --python /opt/capfst/bin/python install --no-cache-dir -c constraints.txt "$(echo /wheel/*.whl)[serve]"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="capfst" \
    org.opencontainers.image.description="Restores the case of text, over HTTP" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/capfst /opt/capfst
ENV PATH="/opt/capfst/bin:$PATH"
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["capfst", "serve", "--host", "0.0.0.0", "--port", "8000"]
