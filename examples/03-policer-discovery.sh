#!/bin/sh
# Finds what an unknown policer is set to, then tests that setting. Across a real path: a far end in
# place of `--lab NET`.
# needs: lab
set -eu

fullpipe burst --lab metro-40m-cbs64k --discover --direction download -q -o policer.json

# The same policer held against what was sold: bursts of the CBS pass, larger ones are cut to it.
fullpipe burst --lab metro-40m-cbs64k --cir 40M --cbs 64K --frames 512,1518 --direction download -q
