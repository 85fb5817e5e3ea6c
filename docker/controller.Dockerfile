# The controller and the commands: no torch, no Ray, no vLLM. For clusters that are raised elsewhere.
# Not built in this repository's CI, which has no Docker engine.
FROM python:3.11-slim
RUN useradd --create-home zeroshift
WORKDIR /app
COPY pyproject.toml README.md ./
COPY jobs ./jobs
COPY infra ./infra
COPY worker ./worker
COPY demo ./demo
RUN pip install --no-cache-dir .
USER zeroshift
ENTRYPOINT ["zeroshift"]
CMD ["watch"]
