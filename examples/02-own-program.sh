#!/bin/sh
# How does a program of yours fare across a bad network? Here a web server and a client, 20 ms apart on
# a line that loses one frame in a thousand; put your own in their place.
# needs: lab curl python3
set -eu

head -c 2000000 /dev/zero >page
fullpipe lab lossy-50m --far 'python3 -m http.server 8000' -- \
    curl --silent --show-error --retry 9 --retry-connrefused --output /dev/null \
    --write-out 'lossy-50m: %{size_download} bytes in %{time_total} s\n' http://far:8000/page

# A network of your own is a file; `fullpipe lab show lossy-50m` prints one to begin with.
cat >train.yaml <<'NETWORK'
lab: fullpipe.lab/1
name: train
links:
  - near_to_far:
      line_rate: 20M
      delay: 40ms
      outage: {start: 2s, lasts: 1s, every: 30s}   # a tunnel
NETWORK
fullpipe lab train.yaml --far 'python3 -m http.server 8000' --truth truth.json -- \
    curl --silent --show-error --retry 9 --retry-connrefused --output /dev/null \
    --write-out 'train: %{size_download} bytes in %{time_total} s\n' http://far:8000/page
