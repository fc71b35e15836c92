# docker build --tag sdd-eval . && docker run --rm --volume "$PWD:/work" sdd-eval doctor; docs/confinement.md says what
# of the sandbox works in it. With `--build-arg BASE=golang:1.26-bookworm` it has Go, for go test.
ARG BASE=debian:bookworm-slim
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /sdd-eval ./cmd/sdd-eval

FROM $BASE
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
  && rm -rf /var/lib/apt/lists/* && useradd --create-home --uid 1000 sdd-eval
COPY --from=build /sdd-eval /usr/local/bin/
USER sdd-eval
WORKDIR /work
ENTRYPOINT ["sdd-eval"]
