# Head and nodes of a GPU cluster: Ray and vLLM at the versions that belong together.
# Not built in this repository's CI, which has no Docker engine and no GPU.
FROM nvidia/cuda:13.0.2-runtime-ubuntu24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv gcc \
 && rm -rf /var/lib/apt/lists/* && useradd --create-home zeroshift
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /app
COPY pyproject.toml README.md ./
COPY jobs ./jobs
COPY infra ./infra
COPY worker ./worker
COPY demo ./demo
RUN pip install --no-cache-dir '.[gpu]'
USER zeroshift
