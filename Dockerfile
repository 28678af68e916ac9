# One image, two commands: `python -m service` and `python -m worker`. It runs as no one in particular, on a read-only root.
FROM python:3.13-slim-trixie

WORKDIR /app
COPY requirements.lock ./
# An environment of its own: what the base image happens to bring must not stand in for what the lock forgets.
RUN python -m venv /opt/venv \
 && /opt/venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock
ENV PATH=/opt/venv/bin:$PATH

COPY grammar/ grammar/
COPY contract/ contract/
COPY storage/ storage/
COPY service/ service/
COPY worker/ worker/
COPY examples/double_well.csv examples/
COPY pyproject.toml LICENSE ./

# A named volume takes over the owner of the folder it is mounted on.
# The loops of the core are compiled here, so that no job waits for it: a worker copies them to where numba may write.
RUN python -m compileall -q grammar contract storage service worker \
 && NUMBA_CACHE_DIR=/opt/compiled python -m worker.queue.precompile && chmod -R a+rX /opt/compiled \
 && mkdir -p /data /secrets /access && chown 10001:10001 /data /secrets /access && chmod 700 /secrets

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    NUMBA_CACHE_DIR=/tmp/numba \
    ITOSCOPE_COMPILED_DIR=/opt/compiled \
    ITOSCOPE_DATA_DIR=/data

USER 10001:10001
EXPOSE 8000
CMD ["python", "-m", "service"]
