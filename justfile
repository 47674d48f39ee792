# The recipes of this repository; `just` alone lists them.

_default:
    @{{ just_executable() }} --list --unsorted

# What CI runs
[group('check')]
check:
    .ci/run

# Every test, without the race detector
[group('check')]
test *ARGS:
    go test {{ ARGS }} ./...

# Write the golden tables and the generated Go types again
[group('check')]
golden:
    go generate ./schema
    go test ./cmd/sweep -run Virtual -update
    go test ./sweep/report -update

# How often a comparison is right: makes the table of sweep/verdict/CALIBRATION.md again
[group('check')]
calibrate:
    go test ./sweep/verdict -run TestCalibration -calibrate

# The demonstration on the embedded engine: about two minutes
[group('run')]
demo *ARGS:
    go run ./cmd/sweep run experiments/batch.cue {{ ARGS }}

# A real server that is up: just server http://127.0.0.1:8000 -t model=tiny -t engine=vllm -t engineRevision=v0.32.0 -t gpu=none -t gpus=0
[group('run')]
server URL *ARGS:
    go run ./cmd/sweep run experiments/load.cue -t target={{ URL }} {{ ARGS }}

# The command as one static binary
[group('run')]
build:
    CGO_ENABLED=0 go build -trimpath -o bin/sweep ./cmd/sweep

# How sweep's client compares with a reader that does nothing but read: ten minutes
[group('bench')]
bench *ARGS:
    go test -c -o bin/bench.test ./runner/bench
    bin/bench.test -compare {{ ARGS }}

# The same, and other tools' clients against the same null server: PEERS is a program that runs them
[group('bench')]
bench-peers PEERS *ARGS: (bench "-peers" trim_start_match(PEERS, "PEERS=") ARGS)
