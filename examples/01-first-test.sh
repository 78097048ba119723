#!/bin/sh
# A first test, without a second machine: a line that fails, the same line repaired, then real frames.
# needs: lab
set -eu

# In virtual time, in a second: 40 Mbit/s were sold, and the policer is too shallow for TCP. Exit code 1
# says that the test ran and the network failed it.
fullpipe sim metro-40m-cbs64k test --cir 40M -q && exit 1 || [ $? -eq 1 ]

# The same line with a committed burst size of 275 kB passes: exit code 0.
fullpipe sim metro-40m-cbs275k test --cir 40M -q

# The same again by real frames and the kernel's TCP, across a network that is emulated on this machine.
fullpipe test --lab metro-40m-cbs275k --cir 40M -q
