# The recipes of this repository; `just` alone lists them.

_default:
    @just --list --unsorted

# How sweep's client compares with a reader that does nothing but read, on this machine: a few minutes.
[group('bench')]
bench *ARGS:
    go test ./runner/bench -v -run '^$' -timeout 0 -args -compare {{ ARGS }}

# The same, with other tools' clients against the same null server: PEERS is a program that runs them.
[group('bench')]
bench-peers PEERS *ARGS:
    go test ./runner/bench -v -run '^$' -timeout 0 -args -compare -peers {{ trim_start_match(PEERS, 'PEERS=') }} {{ ARGS }}
