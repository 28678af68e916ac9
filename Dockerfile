# One image, two commands: `python -m service` and `python -m worker`. It runs as no one in particular, on a read-only root.
FROM python:3.13-slim-trixie AS build

# Compiled for any processor of its family: on the core's loops this costs nothing that could be measured (0.27 s of 0.28 s
# for 10⁶ increments), and the image can be published.
ENV NUMBA_CPU_NAME=generic
WORKDIR /app
COPY requirements.lock ./
# An environment of its own: what the base image happens to bring must not stand in for what the lock forgets.
RUN python -m venv --without-pip /opt/venv \
 && python -m pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock

COPY grammar/ grammar/
COPY contract/ contract/
COPY storage/ storage/
COPY service/ service/
COPY worker/ worker/
COPY examples/double_well.csv examples/
COPY docs/glossary.md docs/
COPY pyproject.toml LICENSE ./
# The loops of the core are compiled here, so that no job waits for it: a worker copies them to where numba may write.
RUN /opt/venv/bin/python -m compileall -q grammar contract storage service worker \
 && NUMBA_CACHE_DIR=/opt/compiled /opt/venv/bin/python -m worker.queue.precompile && chmod -R a+rX /opt/compiled

FROM python:3.13-slim-trixie

LABEL org.opencontainers.image.title="Itoscope" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="BSD-3-Clause"
WORKDIR /app
COPY --from=build /opt /opt
COPY --from=build /app /app
# A named volume takes over the owner of the folder it is mounted on.
RUN mkdir -p /data /secrets /access && chown 10001:10001 /data /secrets /access && chmod 700 /secrets

ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/tmp/numba \
    ITOSCOPE_COMPILED_DIR=/opt/compiled \
    ITOSCOPE_DATA_DIR=/data

USER 10001:10001
EXPOSE 8000
CMD ["python", "-m", "service"]
