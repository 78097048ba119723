#!/bin/sh
# A certificate to hand over, with what the run is called by, and the run found again by it.
# Over a real path: `fullpipe test FAR --cir 40M …`, whose runs are kept without --save.
set -eu

fullpipe sim metro-40m-cbs275k test --cir 40M -q --save -o result.json \
    --site 'Hamburg, head office' --circuit EVC-40M-0815 --technician 'J. Smith' \
    --order WO-2231 --label acceptance

fullpipe report result.json --pdf certificate.pdf --html certificate.html --csv tables
fullpipe history --where site=Hamburg,order=WO-2231
