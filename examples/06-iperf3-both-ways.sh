#!/bin/sh
# Where only one end can have fullpipe: it speaks the protocol of stock iperf3, as client and as server.
# needs: lab iperf3
set -eu

# fullpipe at the near end, a stock `iperf3 -s` at the far end, which the lab starts by itself.
fullpipe lab line-100m-10ms -- fullpipe flow iperf3://far -t 3 -q

# A stock iperf3 client towards fullpipe. In the lab, port 6349 of the far end is taken already.
fullpipe lab line-100m-10ms --far 'fullpipe serve --iperf3 --listen [::]:6350' -- \
    sh -c 'for try in 1 2 3 4 5; do iperf3 -c far -t 3 && exit; sleep 1; done; exit 1'
