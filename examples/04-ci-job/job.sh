#!/bin/sh
# A CI job: the exit code of a plan decides, and the results are kept as JUnit XML and JSON.
# In virtual time it takes seconds and gives the same figures each time.
set -eu
plan=$(dirname "$0")/plan.yaml

# Refused before anything is sent if a word is wrong or the plan takes too long.
fullpipe run "$plan" --dry-run --max-time 10m

status=0
fullpipe run "$plan" --junit junit.xml --results results || status=$?
case $status in
0) echo "the network delivers what was sold" ;;
1) echo "the network does not deliver what was sold" ;;
4 | 5) echo "not decided: measure again on a quieter host" ;;
*) echo "could not be measured" ;;
esac
exit "$status"
