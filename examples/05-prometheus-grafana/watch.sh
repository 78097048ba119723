#!/bin/sh
# Runs a plan again and again and shows its metrics as Prometheus reads them: after the first round here,
# then stops. In earnest: `fullpipe watch` as a service, and prometheus.yml beside this file.
# needs: curl
set -eu
metrics=${METRICS:-127.0.0.1:9349}

fullpipe watch "$(dirname "$0")/plan.yaml" --every 15m --metrics "$metrics" --no-save --quiet &
watch=$!
trap 'kill "$watch"' EXIT

until curl --silent "http://$metrics/metrics" | grep -q '^fullpipe_test_passed'; do
    kill -0 "$watch"    # ended by itself, it has said why
    sleep 1
done
curl --silent "http://$metrics/metrics" | grep '^fullpipe_test_'
