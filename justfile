# The recipes of this repository; `just` alone lists them.

_default:
    @{{ just_executable() }} --list --unsorted

# How sweep's client compares with a reader that does nothing but read: five minutes
[group('bench')]
bench *ARGS:
    go test -c -o bin/bench.test ./runner/bench
    bin/bench.test -compare {{ ARGS }}

# The same, and other tools' clients against the same null server: PEERS is a program that runs them
[group('bench')]
bench-peers PEERS *ARGS: (bench "-peers" trim_start_match(PEERS, "PEERS=") ARGS)
